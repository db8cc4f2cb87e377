package humanize

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

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
	add("It goes on", p.OwnKey)
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
		return 2, join(cmp.Or(s.Class.Words(), s.Reason), s.Remedy)
	case s.Unreached != "":
		return 3, join("it is open in a process that cannot be given the prompt", s.Remedy)
	case s.State == resume.Parked:
		return 4, s.Reason
	case s.State == resume.GaveUp:
		return 5, join(s.Reason, s.Remedy)
	case s.State == resume.Waiting && !s.Held && s.NextAt != nil && s.NextAt.After(now):
		return 6, join("it continues by itself at "+stampOf(*s.NextAt), OwnKey(s.OwnKey))
	case s.State == resume.Waiting:
		return 7, cmp.Or(Why(s), "the wait is over: it starts in a moment")
	default:
		return 8, "it is being resumed now"
	}
}

// WhyNot asks the questions, up to the one that stops the session.
func WhyNot(s view.Session, now time.Time) Part {
	part := Part{Title: "Why is it (not) resumed? The first line with an arrow is the answer", Said: true}
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
