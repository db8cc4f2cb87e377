package notify

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/usage"
)

// Digested is one session of a digest.
type Digested struct {
	View   view.Session
	GoOn   string // the command that continues it; empty: not known
	Needed bool   // it needs a person; otherwise it was continued
}

// TellDigest reports what was continued, and what needs a person. Without sessions there is no notice.
func (n *Notifier) TellDigest(sessions []Digested) {
	if len(sessions) == 0 {
		return
	}
	n.tellAs(Digest, resume.AccountKey{}, "digest of "+n.now().String(), func(g *group) {
		for _, s := range sessions {
			g.append(trimView(s.View))
		}
		g.detail = digestText(sessions)
	})
}

// digestText returns the title and the text of a digest: sessions that need a person come first.
func digestText(sessions []Digested) string {
	var needed, continued []string
	for _, s := range sessions {
		line := listLine(s.View)
		if s.Needed {
			line += ": " + sanitize.Short(humanize.Reason(s.View.Reason, func(t time.Time) string { return humanize.LastingClock(t, time.Now()) }), 80)
		}
		if s.GoOn != "" {
			line += "\n  " + sanitize.Line(s.GoOn)
		}
		if s.Needed {
			needed = append(needed, line)
		} else {
			continued = append(continued, line)
		}
	}
	var title []string
	if n := len(continued); n > 0 {
		title = append(title, humanize.Count(n, "session")+" continued")
	}
	if n := len(needed); n > 0 {
		title = append(title, fmt.Sprintf("%d %s you", n, humanize.Verb(n, "needs", "need")))
	}
	text := []string{"resumed: " + strings.Join(title, ", ")}
	left := maxTextSessions
	for _, part := range []struct {
		title string
		lines []string
	}{{"Needs you:", needed}, {"Continued:", continued}} {
		if len(part.lines) == 0 || left == 0 {
			continue
		}
		shown := part.lines[:min(len(part.lines), left)]
		left -= len(shown)
		text = append(text, part.title, strings.Join(shown, "\n"))
		if more := len(part.lines) - len(shown); more > 0 {
			text = append(text, fmt.Sprintf(andMore, more))
		}
	}
	return strings.Join(text, "\n")
}

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
		g.Allowance = &Allowance{w.Kind, usage.Threshold(w.Used), w.ResetsAt.UTC(), w.FullAt}
	})
}

// UsageWords returns the title and the text of a notice of another host.
func UsageWords(account resume.AccountKey, a Allowance, now time.Time) (title, text string) {
	w := usage.Window{Kind: a.Window, Used: a.Percent, ResetsAt: a.ResetsAt, FullAt: a.FullAt, Earliest: a.FullAt, Latest: a.FullAt}
	title, text, _ = strings.Cut(usageText(account, w, now), "\n")
	return title, text
}

func usageText(account resume.AccountKey, w usage.Window, now time.Time) string {
	text := fmt.Sprintf("resumed: %s of the %s of %s used\n", humanize.Percent(w.Used), humanize.Window(w.Kind), account)
	if full := humanize.Fills(w, now); full != "" {
		text += "At this pace it is used up at " + full + ".\n"
	}
	return text + "It resets " + humanize.Until(w.ResetsAt, now) + "."
}
