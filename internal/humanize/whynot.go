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
