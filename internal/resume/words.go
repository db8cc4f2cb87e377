package resume

import (
	"slices"
	"strings"
	"time"

	"resumed/internal/limit"
)

// describe says what stopped a session, for people.
func describe(v limit.Verdict, text string) string {
	if v.Class == limit.None {
		return "asked for by you"
	}
	words := v.Class.Words()
	if text != "" {
		return words + ": " + text
	}
	return words
}

// cause says what stands in the session's way. Who holds it and cannot be reached
// comes first: that is what a person can do something about. Then the latest: a
// resume that failed by itself is told before the limit that it was to go on after.
// remark is what else is to be said, and comes before that limit's words, which may
// be long.
func (s Session) cause(remark string) string {
	class, failed := describe(s.Limit, ""), s.failure()
	switch {
	case failed != "":
		return join(s.Unreached, failed, remark, "stopped by "+describe(s.Limit, s.LimitText))
	case s.Limit.Class == limit.None || s.LimitText == "":
		return join(s.Unreached, class, remark)
	case remark == "":
		return join(s.Unreached, describe(s.Limit, s.LimitText))
	default:
		return join(s.Unreached, class+", "+remark+": "+s.LimitText)
	}
}

// failure says why the last resume failed, or "" where the limit is the reason.
func (s Session) failure() string {
	last := s.last()
	if last == nil {
		return ""
	}
	switch last.Outcome {
	case Failed, TimedOut, NoProgress:
		return last.Err
	default:
		return ""
	}
}

// retry is the command by which a person has the session continued, as it is quoted in
// a sentence.
func (s Session) retry() string { return "`resumed retry " + Typed(s.Key, s.Name) + "`" }

// join puts what is not empty into one line.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// The beginnings of what is said of a session that is not stopped any more.
const (
	WorksAgain = "works again"
	WentOn     = "continued by itself"
)

// short writes a duration as a configuration has it: 2m, not 2m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Typed is what a command that is printed calls a session: its whole id, which means it
// for ever and on every machine, with the agent before it where its name needs that.
func Typed(key Key, name string) string {
	if name == key.String() {
		return name
	}
	return key.ID
}
