package termui

import (
	"fmt"
	"strings"

	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Session shows everything that is known about one session.
func (p Renderer) Session(s view.Session) string { return strings.Join(p.session(s), "\n") + "\n" }

// labels is the width of the labels.
const labels = 12

func (p Renderer) session(s view.Session) []string {
	var lines []string
	_, colour := stateOf(s)
	colours := map[string]Colour{"session": Bold, "state": colour, "to do": Bold}
	indent := strings.Repeat(" ", labels)
	for _, f := range humanize.Facts(s) {
		label := p.Paint.In(Dim, fill(f.Label, labels))
		for _, text := range p.wrap(home(f.Line(p.Now)), indent) {
			lines = append(lines, label+p.Paint.In(colours[f.Label], text[labels:]))
			label = indent
		}
	}
	lines = append(lines, p.evidence(s)...)
	lines = append(lines, p.resumes("Resumes", s.Attempts)...)
	lines = append(lines, p.resumes("Resumes of the interruption before", s.Past)...)
	lines = append(lines, p.WhyNot(s)...)
	return append(lines, p.Leash(s)...)
}

func (p Renderer) evidence(s view.Session) []string {
	if s.Text == "" {
		return nil
	}
	lines := []string{"", p.Paint.In(Dim, "Evidence, in the agent's words")}
	for text := range strings.Lines(sanitize.Text(s.Text)) {
		lines = append(lines, p.wrap(strings.TrimRight(sanitize.Line(text), "\n"), "  ")...)
	}
	return lines
}

func (p Renderer) resumes(title string, attempts []view.Attempt) []string {
	if len(attempts) == 0 {
		return nil
	}
	lines := []string{"", p.Paint.In(Dim, title)}
	for _, a := range attempts {
		when := "?"
		if a.StartedAt != nil {
			when = humanize.Clock(*a.StartedAt, p.Now)
		}
		text := fmt.Sprintf("%d. %s, %s", a.N, when, humanize.Attempt(a))
		if a.Error != "" {
			text += ": " + sanitize.Line(a.Error)
		}
		lines = append(lines, p.wrap(text, "  ")...)
	}
	return lines
}

// Leash shows what the session was started with and what the next resume would run, with the parts of
// the start that it repeats.
func (p Renderer) Leash(s view.Session) (lines []string) {
	for _, part := range humanize.Leash(s) {
		lines = append(lines, p.part(part)...)
	}
	return lines
}

// WhyNot shows what decides whether a session is resumed.
func (p Renderer) WhyNot(s view.Session) []string { return p.part(humanize.WhyNot(s, p.Now)) }

func (p Renderer) part(part humanize.Part) []string {
	const indent = "  "
	lines := []string{"", p.Paint.In(Dim, part.Title)}
	for _, text := range part.Lines {
		if part.Said {
			text = humanize.ReasonAt(text, p.Now)
		}
		for _, line := range Wrap(text, p.Width-len(indent)) {
			lines = append(lines, indent+line)
		}
	}
	return lines
}
