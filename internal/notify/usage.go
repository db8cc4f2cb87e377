package notify

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// Allowance is a window of an account, and the mark that its use has passed.
type Allowance struct {
	Window   string     `json:"window"`
	Percent  float64    `json:"percent"`
	ResetsAt time.Time  `json:"resets_at"`
	FullAt   *time.Time `json:"full_at,omitempty"` // when it is used up at this pace, if known
}

// TellUsage reports that much of a window of an account is used.
func (n *Notifier) TellUsage(account resume.AccountKey, w usage.Window) {
	now := n.now()
	n.tellAs(Usage, account, w.Kind+now.String(), func(g *group) {
		g.detail = usageText(account, w, now)
		g.Allowance = &Allowance{w.Kind, usage.Mark(w.Used), w.ResetsAt.UTC(), w.FullAt}
	})
}

// UsageWords returns the title and the text of a notice of another host.
func UsageWords(account resume.AccountKey, a Allowance, now time.Time) (title, text string) {
	w := usage.Window{Kind: a.Window, Used: a.Percent, ResetsAt: a.ResetsAt, FullAt: a.FullAt, Earliest: a.FullAt, Latest: a.FullAt}
	title, text, _ = strings.Cut(usageText(account, w, now), "\n")
	return title, text
}

// usageText returns the title and the text.
func usageText(account resume.AccountKey, w usage.Window, now time.Time) string {
	text := fmt.Sprintf("resumed: %s of the %s of %s used\n", humanize.Percent(w.Used), humanize.Window(w.Kind), account)
	if full := humanize.Fills(w, now); full != "" {
		text += "At this pace it is used up at " + full + ".\n"
	}
	return text + "It resets " + humanize.Until(w.ResetsAt, now) + "."
}
