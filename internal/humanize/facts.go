package humanize

import (
	"cmp"
	"fmt"
	"slices"
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
	if s.Owner != nil {
		say("held by", fmt.Sprintf("%s (%s)", Owner(s), sanitize.Line(s.Owner.Kind)))
	}
	say("run with", sanitize.Line(s.Program))
	say("attempts", strings.ReplaceAll(Tries(s), "/", " of "))
	if s.State == resume.Waiting || s.State == resume.Resuming || s.State == resume.Settling {
		say("policy", sanitize.Line(s.Policy))
		tries := ""
		if s.MaxRetries > 0 {
			tries = "after " + Count(s.MaxRetries, "resume") + " without progress"
		}
		switch {
		case s.GivesUpAt == nil:
			say("gives up", tries)
		case tries == "":
			when("gives up", s.GivesUpAt, "")
		default:
			when("gives up", s.GivesUpAt, ", or "+tries)
		}
	}
	if s.Windows > 0 {
		say("windows", Count(s.Windows, "usage limit")+" since your last prompt")
	}
	if s.Context != nil && s.State != resume.Watching {
		say("context", Context(*s.Context, s.Cold))
	}
	if s.State != resume.Watching && s.Class != limit.None {
		say("class", s.Class.Title())
	}
	if s.StoppedAt != nil && s.LimitedAt != nil && s.StoppedAt.Before(*s.LimitedAt) {
		when("stopped at", s.StoppedAt, "")
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
		if n := tally.Interrupted(); n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
			next = "resumed status; resumed retry --unseen continues sessions whose start was not seen, with your settings as they are now"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", "), next
}

// ContinueUnseen is what a person agrees to with a retry, if the start of the session was not seen.
const ContinueUnseen = "Continue with your settings as they are now"

// Part is some lines with a title.
type Part struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
	Said  bool     `json:"said,omitempty"` // they are reasons with time stamps
}

// Leash returns what a session was started with and what its next resume would do. A session that is not
// stopped has no next resume.
func Leash(s view.Session) []Part {
	parts := []Part{{"Started with", started(s.Started), false}}
	idle := s.State == resume.Watching && s.Plan != nil && s.Plan.Instead != "" // the plan only says that there is nothing to resume
	resuming := s.State == resume.Resuming || s.State == resume.Settling        // the plan takes this resume for somebody else's work
	if s.Plan != nil && !idle && !resuming {
		next := "The next resume"
		if s.State == resume.Parked || s.State == resume.GaveUp {
			next = "resumed retry " + sanitize.Line(s.Typed())
		}
		parts = append(parts, plan(*s.Plan, s.Cwd, next)...)
	} else if len(s.Carried.LeftOut) > 0 {
		parts = append(parts, Part{"Left out by the last resume", lines(s.Carried.LeftOut), false})
	}
	return parts
}

// started returns what is known about a session's start.
func started(s view.Start) []string {
	said := []string{"its command line is not known: the process ended before resumed saw it, or hides it"}
	if s.Seen {
		said = []string{sanitize.Line(CommandLine(s.Argv...))}
	}
	if len(s.Env) > 0 {
		said = append(said, "with the variables "+sanitize.Line(strings.Join(s.Env, ", ")))
	}
	if s.Sandbox != nil {
		said = append(said, "in a sandbox: "+sanitize.Line(*s.Sandbox))
	}
	return said
}

// plan returns what the next resume of a session in that directory would do.
func plan(p view.Plan, cwd, next string) []Part {
	var parts []Part
	add := func(title string, words ...string) {
		if len(words) > 0 && words[0] != "" {
			parts = append(parts, Part{title, lines(words), false})
		}
	}
	if p.Instead != "" {
		parts = append(parts, Part{"Nothing would be sent now, because", lines([]string{p.Instead}), true})
	}
	command := []string{CommandLine(p.Command...)}
	if p.Dir != cwd && p.Dir != "" {
		command = append(command, "in "+p.Dir)
	}
	switch {
	case len(p.Command) > 0 && p.Instead != "":
		add("Otherwise "+strings.Replace(next, "T", "t", 1)+" would run", command...)
	case len(p.Command) > 0:
		add(next+" runs", command...)
	case p.Does != "":
		add("With "+strings.Replace(next, "T", "t", 1), p.Does)
	}
	add("It is told", p.Prompt)
	add("It goes on", p.Models)
	add("Repeated from its start", CommandLine(p.Repeated...))
	add("Left out, and why", p.LeftOut...)
	if len(p.EnvUnset) > 0 {
		add("Without those of the daemon", strings.Join(p.EnvUnset, ", "))
	}
	return parts
}

// CommandLine returns a command as a person would type it into a shell.
func CommandLine(argv ...string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = sanitize.ShellWord(arg)
	}
	return strings.Join(words, " ")
}

func lines(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = sanitize.Line(word)
	}
	return all
}

// questions are the checks that decide whether a session is resumed now, and the answer of a session
// that passes. They are asked in this order: `status SESSION` and `explain` show them, and docs/faq.md
// explains them.
var questions = []struct{ ask, passed string }{
	{"Was it stopped?", "yes"},
	{"Is it paused?", "no"},
	{"Can waiting help?", "yes"},
	{"Can it be reached?", "yes"},
	{"Must you decide?", "no"},
	{"Are there tries left?", "yes"},
	{"Is the wait over?", "yes"},
	{"Is it its turn?", "yes"},
	{"Does it work again?", "yes"},
}

// stoppedBy returns the index of the first question that a session does not pass, and why, in the
// session's own words if it has any.
func stoppedBy(s view.Session, now time.Time) (question int, why string) {
	switch {
	case !s.Interrupted() && s.Reason != "": // for example, it was stopped too long ago: that is not the same as not stopped
		return 0, "nothing to resume: " + s.Reason
	case !s.Interrupted():
		return 0, "it was not stopped: there is nothing to resume"
	case s.Paused:
		return 1, "it is paused: resumed unpause " + sanitize.Line(s.Typed()) + " ends the pause"
	case s.State == resume.Parked && s.Unreached == "" && !s.Class.Transient():
		return 2, join(cmp.Or(s.Class.Title(), s.Reason), s.Remedy)
	case s.Unreached != "":
		return 3, join("it is open in a process that cannot be given the prompt", s.Remedy)
	case s.State == resume.Parked:
		return 4, s.Reason
	case s.State == resume.GaveUp:
		return 5, join(s.Reason, s.Remedy)
	case s.State == resume.Waiting && !s.Held && s.NextAt != nil && s.NextAt.After(now):
		return 6, "it continues by itself at " + stampOf(*s.NextAt)
	case s.State == resume.Waiting:
		return 7, cmp.Or(Why(s), "the wait is over: it starts in a moment")
	default:
		return 8, "it is being resumed now"
	}
}

// WhyNot asks the questions, up to the one that stops the session.
func WhyNot(s view.Session, now time.Time) Part {
	part := Part{Title: "Why is it (not) resumed?", Said: true}
	last, why := stoppedBy(s, now)
	for _, q := range questions[:last] {
		part.Lines = append(part.Lines, q.ask+" "+q.passed)
	}
	part.Lines = append(part.Lines, questions[last].ask+" → "+sanitize.Line(why))
	return part
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "; ")
}
