package termui

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

// Session shows all that is known of one session.
func (p Page) Session(s resume.View) string { return strings.Join(p.session(s), "\n") + "\n" }

// labels is how wide the names of the facts are.
const labels = 12

func (p Page) session(s resume.View) []string {
	var lines []string
	state, colour := stateOf(s)
	fact := func(label, value string, c Colour) {
		if value == "" {
			return
		}
		for i, text := range p.wrap(value, strings.Repeat(" ", labels)) {
			if i == 0 {
				text = p.Paint.In(Dim, fill(label, labels)) + p.Paint.In(c, text[labels:])
			} else {
				text = text[:labels] + p.Paint.In(c, text[labels:])
			}
			lines = append(lines, text)
		}
	}
	if when := humanize.Countdown(s, p.Now); when != "" {
		state += ", " + when
	}
	fact("session", sanitize.Line(s.ID), Bold)
	fact("agent", sanitize.Line(s.Agent), None)
	fact("account", sanitize.Line(s.AccountKey().String()), None)
	fact("directory", home(sanitize.Line(s.Cwd)), None)
	fact("state", state, colour)
	fact("why", sanitize.Line(s.Reason), None)
	fact("held by", heldBy(s), None)
	fact("run with", home(sanitize.Line(s.Program)), None)
	fact("attempts", strings.ReplaceAll(humanize.Tries(s), "/", " of "), None)
	if s.Windows > 0 {
		fact("windows", humanize.Count(s.Windows, "usage limit")+" since a person's last prompt", None)
	}
	if s.Context != nil && s.State != resume.Watching {
		fact("context", humanize.Context(*s.Context, s.Cold), None)
	}
	lines = append(lines, p.evidence(s, fact)...)
	lines = append(lines, p.resumes("Resumes", s.Attempts)...)
	lines = append(lines, p.resumes("Resumes of the interruption before", s.Past)...)
	lines = append(lines, p.leash(s)...)
	return lines
}

func heldBy(s resume.View) string {
	if s.Owner == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s)", humanize.Owner(s), sanitize.Line(s.Owner.Kind))
}

// evidence shows on what the state rests. The facts go before the words.
func (p Page) evidence(s resume.View, fact func(label, value string, c Colour)) []string {
	if s.State != resume.Watching && s.Class != 0 {
		fact("class", humanize.Plain(s.Class.String()), None)
	}
	if s.LimitedAt != nil {
		fact("limited at", humanize.Clock(*s.LimitedAt, p.Now), None)
	}
	if s.ResetAt != nil {
		fact("resets at", humanize.Clock(*s.ResetAt, p.Now)+sourceWords(s.ResetFrom), None)
	}
	fact("transcript", home(sanitize.Line(s.Transcript)), None)
	if s.Text == "" {
		return nil
	}
	lines := []string{"", p.Paint.In(Dim, "Evidence, in the agent's words")}
	for text := range strings.Lines(sanitize.Text(s.Text)) {
		lines = append(lines, p.wrap(strings.TrimRight(sanitize.Line(text), "\n"), "  ")...)
	}
	return lines
}

func sourceWords(s limit.Source) string {
	switch s {
	case limit.Structured:
		return ", as the agent recorded it"
	case limit.Header:
		return ", as the provider's header says"
	case limit.Words:
		return ", as the message says"
	default:
		return ""
	}
}

// resumes is a line for each resume: when, after which wait, how it ended.
func (p Page) resumes(title string, attempts []resume.AttemptView) []string {
	if len(attempts) == 0 {
		return nil
	}
	lines := []string{"", p.Paint.In(Dim, title)}
	for _, a := range attempts {
		when := "?"
		if a.StartedAt != nil {
			when = humanize.Clock(*a.StartedAt, p.Now)
		}
		outcome := humanize.Outcome(a.Outcome)
		text := fmt.Sprintf("%d. %s, waited %s; %s", a.N, when, humanize.Span(time.Duration(a.DelaySeconds*float64(time.Second))), outcome)
		if a.StartedAt != nil && a.EndedAt != nil {
			text += ended(a.EndedAt.Sub(*a.StartedAt))
		}
		if a.Error != "" {
			text += ": " + sanitize.Line(a.Error)
		}
		lines = append(lines, p.wrap(text, "  ")...)
	}
	return lines
}

func ended(after time.Duration) string {
	if after < time.Second {
		return " at once"
	}
	return " after " + humanize.Span(after)
}
