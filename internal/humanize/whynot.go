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

// Question is one of the checks that decide whether a session is resumed now. They are asked in their
// order, and the first one that stops the session is the answer: `status SESSION`, `explain` and
// docs/faq.md all use this list.
type Question struct {
	Ask    string
	Passed string // the answer for a session that it does not stop
	Stops  string // what it means if it stops a session
	Do     string // and what a person can do then

	// stop returns why the question stops a session, in that session's own words if it has any; empty:
	// it does not.
	stop func(s view.Session, now time.Time) string
}

var questions = []Question{
	{
		Ask: "Was it stopped?", Passed: "yes",
		Stops: "The session works, its last turn ended normally, you stopped it yourself, or it stopped too long before the daemon first saw it (`[resume] lookback`, 6 h).",
		Do:    "Nothing. If you do see a limit in it: `resumed explain FILE` shows how its transcript is understood.",
		stop: func(s view.Session, _ time.Time) string {
			if s.Interrupted() {
				return ""
			}
			if s.Reason != "" { // for example, it was stopped too long ago: that is not the same as not stopped
				return "nothing to resume: " + s.Reason
			}
			return "it was not stopped: there is nothing to resume"
		},
	},
	{
		Ask: "Is it paused?", Passed: "no",
		Stops: "You paused this session, or all of them.",
		Do:    "`resumed unpause SESSION`, or `resumed unpause` for all.",
		stop: func(s view.Session, _ time.Time) string {
			if s.Paused {
				return "it is paused: resumed unpause " + sanitize.Line(s.Typed()) + " ends the pause"
			}
			return ""
		},
	},
	{
		Ask: "Can waiting help?", Passed: "yes",
		Stops: "It needs a sign-in or money, its context is too long, or its request was refused: another try would fail the same way.",
		Do:    "See the table below; then `resumed retry SESSION`.",
		stop: func(s view.Session, _ time.Time) string {
			if s.State == resume.Parked && s.Unreached == "" && !s.Class.Transient() {
				return join(cmp.Or(s.Class.Words(), s.Reason), s.Remedy)
			}
			return ""
		},
	},
	{
		Ask: "Can it be reached?", Passed: "yes",
		Stops: "It is still open in a process that is not in tmux or kitty: `resumed` cannot type into it, and starts nothing while it is open.",
		Do:    "Continue in its terminal, or quit it and `resumed` continues it. Next time start it in tmux: `resumed shell claude`.",
		stop: func(s view.Session, _ time.Time) string {
			if s.Unreached != "" {
				return join("it is open in a process that cannot be given the prompt", s.Remedy)
			}
			return ""
		},
	},
	{
		Ask: "Must you decide?", Passed: "no",
		Stops: "There is another problem: its directory was replaced, a file that it was started with is gone, another account would be used, you continued the work elsewhere, or its wait ended days ago while no daemon ran. The reason says which.",
		Do:    "Do what the reason says; then `resumed retry SESSION`.",
		stop: func(s view.Session, _ time.Time) string {
			if s.State == resume.Parked {
				return s.Reason
			}
			return ""
		},
	},
	{
		Ask: "Are there tries left?", Passed: "yes",
		Stops: "All tries that its policy allows are used ([backoff](backoff.md)), and its transcript showed no new work.",
		Do:    "`resumed logs SESSION` shows the output of the tries; `resumed retry SESSION` starts again.",
		stop: func(s view.Session, _ time.Time) string {
			if s.State == resume.GaveUp {
				return join(s.Reason, s.Remedy)
			}
			return ""
		},
	},
	{
		Ask: "Is the wait over?", Passed: "yes",
		Stops: "It waits for the time that the provider named, or for its backoff.",
		Do:    "Nothing. `resumed retry SESSION` resumes it now.",
		stop: func(s view.Session, now time.Time) string {
			if s.State != resume.Waiting || s.Held || s.NextAt == nil || !s.NextAt.After(now) {
				return ""
			}
			return join("it continues by itself at "+stampOf(*s.NextAt), OwnKey(s.OwnKey))
		},
	},
	{
		Ask: "Is it its turn?", Passed: "yes",
		Stops: "The wait is over, but something goes first: another session of its account tries alone, `max_concurrent` sessions run already, everything is paused, or it is outside `[resume] hours`.",
		Do:    "Nothing: it continues by itself.",
		stop: func(s view.Session, _ time.Time) string {
			if s.State == resume.Waiting {
				return cmp.Or(s.Reason, "the wait is over: it starts in a moment")
			}
			return ""
		},
	},
	{
		Ask: "Does it work again?", Passed: "yes",
		Stops: "It is being resumed: its transcript must show new work within `[resume] settle` (2 min) after that, or it waits for the next try.",
		Do:    "Nothing. `resumed logs SESSION -f` shows its output.",
		stop:  func(view.Session, time.Time) string { return "it is being resumed now" },
	},
}

// Questions returns the checks that decide whether a session is resumed, in order.
func Questions() []Question { return append([]Question(nil), questions...) }

// WhyNot asks the questions, up to the one that stops the session.
func WhyNot(s view.Session, now time.Time) Part {
	part := Part{Title: "Why is it (not) resumed? The first line with an arrow is the answer", Said: true}
	for _, q := range questions {
		if why := q.stop(s, now); why != "" {
			part.Lines = append(part.Lines, q.Ask+" → "+sanitize.Line(why))
			break
		}
		part.Lines = append(part.Lines, q.Ask+" "+q.Passed)
	}
	return part
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "; ")
}
