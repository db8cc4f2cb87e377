package termui

import (
	"fmt"
	"strings"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// mostOffers bounds how many offers are shown: the details of each session show its own.
const mostOffers = 3

// offers shows which sessions continue at their user's own cost, or could.
func (p Page) offers(sessions []view.Session) string {
	var text strings.Builder
	shown, more := 0, 0
	for _, s := range sessions {
		words := humanize.OwnKey(s.OwnKey)
		if words == "" {
			continue
		}
		if shown++; shown > mostOffers {
			more++
			continue
		}
		if shown == 1 {
			fmt.Fprintln(&text)
		}
		for _, line := range p.wrap(sanitize.Line(s.Name)+": "+humanize.ReasonAt(sanitize.Line(words), p.Now), "") {
			fmt.Fprintln(&text, line)
		}
	}
	if more > 0 {
		fmt.Fprintf(&text, "and %s more: resumed status SESSION\n", humanize.Count(more, "session"))
	}
	return text.String()
}
