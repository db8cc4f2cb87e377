package termui

import (
	"strings"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
)

// Leash shows how a session is continued.
func (p Page) Leash(s view.Session) string { return strings.Join(p.leash(s), "\n") + "\n" }

// leash shows what the session was started with and what the next resume would run, with the parts of
// the start that it repeats.
func (p Page) leash(s view.Session) []string {
	var lines []string
	for _, part := range humanize.Leash(s) {
		lines = append(lines, p.part(part)...)
	}
	return lines
}

// WhyNot shows what decides whether a session is resumed.
func (p Page) WhyNot(s view.Session) string { return strings.Join(p.whyNot(s), "\n") + "\n" }

func (p Page) whyNot(s view.Session) []string { return p.part(humanize.WhyNot(s, p.Now)) }

// part shows lines under their title.
func (p Page) part(part humanize.Part) []string {
	const indent = "  "
	lines := []string{"", p.Paint.In(Dim, part.Title)}
	for _, text := range part.Lines {
		if part.Said {
			text = humanize.ReasonAt(text, p.Now)
		}
		for _, line := range Words(text, p.Width-len(indent)) {
			lines = append(lines, indent+line)
		}
	}
	return lines
}
