package humanize

import (
	"fmt"
	"strings"
	"time"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// Fact is one property of a session. Its time is a separate field: the page shows it in the reader's
// zone, with a countdown.
type Fact struct {
	Label string     `json:"label"`
	Text  string     `json:"text,omitempty"`
	At    *time.Time `json:"at,omitempty"`
	Until bool       `json:"until,omitempty"` // count down to At
	Late  string     `json:"late,omitempty"`  // shown when the countdown is over
	After string     `json:"after,omitempty"` // shown after the time
	Said  bool       `json:"said,omitempty"`  // Text is a reason with time stamps
}

// Line returns a fact as one line.
func (f Fact) Line(now time.Time) string {
	text := f.Text
	if f.Said {
		text = ReasonAt(text, now)
	}
	switch {
	case f.At != nil && f.Until:
		text += ", " + until(*f.At, now, f.Late)
	case f.At != nil:
		text += Clock(*f.At, now)
	}
	return text + f.After
}

// Facts returns what is known about a session now, in the order of interest.
func Facts(s view.Session) []Fact {
	var all []Fact
	say := func(label, text string) {
		if text != "" {
			all = append(all, Fact{Label: label, Text: text})
		}
	}
	when := func(label string, at *time.Time, after string) {
		if at != nil {
			all = append(all, Fact{Label: label, At: at, After: after})
		}
	}
	say("session", sanitize.Line(s.ID))
	say("agent", sanitize.Line(s.Agent))
	say("account", sanitize.Line(s.AccountKey().String()))
	say("directory", sanitize.Line(s.Cwd))
	say("opened in", sanitize.Line(s.App))
	all = append(all, stateFact(s))
	if why := Why(s); why != "" {
		all = append(all, Fact{Label: "why", Text: sanitize.Line(why), Said: true})
	}
	if s.State != resume.Watching { // otherwise the reason says it
		say("subagents", sanitize.Line(resume.SubagentsStopped(s.Subagents)))
	}
	if s.Unreached == "" { // otherwise the reason contains it
		say("to do", sanitize.Line(s.Remedy))
	}
	if words := OwnKey(s.OwnKey); words != "" {
		all = append(all, Fact{Label: "your key", Text: sanitize.Line(words), Said: true})
	}
	if s.Owner != nil {
		say("held by", fmt.Sprintf("%s (%s)", Owner(s), sanitize.Line(s.Owner.Kind)))
	}
	say("run with", sanitize.Line(s.Program))
	say("attempts", strings.ReplaceAll(Tries(s), "/", " of "))
	if s.Windows > 0 {
		say("windows", Count(s.Windows, "usage limit")+" since your last prompt")
	}
	if s.Context != nil && s.State != resume.Watching {
		say("context", Context(*s.Context, s.Cold))
	}
	if s.State != resume.Watching && s.Class != limit.None {
		say("class", s.Class.Words())
	}
	when("limited at", s.LimitedAt, "")
	when("resets at", s.ResetAt, Source(s.ResetFrom))
	say("transcript", sanitize.Line(s.Transcript))
	return all
}

func stateFact(s view.Session) Fact {
	word, _ := State(s)
	f := Fact{Label: "state", Text: word}
	if s.State == resume.Waiting && s.NextAt != nil {
		f.At, f.Until, f.Late = s.NextAt, true, Late(s)
	}
	return f
}

// Source returns where the time of a reset comes from.
func Source(s limit.Source) string {
	return map[limit.Source]string{
		limit.Structured: ", as the agent recorded it",
		limit.Header:     ", as the provider's header says",
		limit.Words:      ", as the message says",
	}[s]
}

// Undelivered returns how many notices of one channel are not delivered; empty: all are.
func Undelivered(channel string, pending, failed int, lastError string) string {
	if pending == 0 && failed == 0 {
		return ""
	}
	text := fmt.Sprintf("notices by %s: %d to be delivered, %d failed", sanitize.Line(channel), pending, failed)
	if lastError != "" {
		text += ": " + sanitize.Line(lastError)
	}
	return text
}

// Found returns how many sessions each agent has, and how many of them are stopped, and which commands
// come next.
func Found(names []string, tallies map[string]resume.Tally) (sessions, next string) {
	var words []string
	next = "resumed status, resumed doctor"
	for _, name := range names {
		tally, text := tallies[name], name+": none"
		if n := tally.Known(); n > 0 {
			text = name + ": " + Count(n, "session")
		}
		if n := tally.Stopped(); n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
			next = "resumed status; resumed retry --unseen continues sessions whose start was not seen, with your settings as they are now"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", "), next
}
