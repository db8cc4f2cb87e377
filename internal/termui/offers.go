package termui

import (
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// mostOffers bounds how many offers are shown: the details of each session show its own.
const mostOffers = 3

// offers shows which sessions continue at their user's own cost, or could.
func (p *Printer) offers(sessions []view.Session) {
	found := 0
	for _, s := range sessions {
		words := humanize.OwnKey(s.OwnKey)
		if words == "" {
			continue
		}
		if found++; found > mostOffers {
			continue
		}
		if found == 1 {
			p.Lines("")
		}
		p.Wrapped(sanitize.Line(s.Name) + ": " + humanize.ReasonAt(sanitize.Line(words), p.Now))
	}
	if more := found - mostOffers; more > 0 {
		p.Lines("and " + humanize.Count(more, "session") + " more: resumed status SESSION")
	}
}
