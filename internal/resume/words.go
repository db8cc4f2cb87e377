package resume

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"resumed/internal/limit"
)

func describe(v limit.Verdict, text string) string {
	if v.Class == limit.None {
		return "asked for by you"
	}
	words := v.Class.Title()
	if v.Class == limit.CutOff && text != "" {
		return text
	}
	if text != "" {
		return words + ": " + text
	}
	return words
}

// cause says what holds the session back. A process that holds it and cannot be reached comes first,
// because a person can change that. Then the latest: a resume that failed by itself comes before the
// limit that it was to continue after. remark is added before the limit's own text, which may be long.
func (s Session) cause(remark string) string {
	class, last := describe(s.Limit, ""), s.last()
	failed := last.Outcome == Failed || last.Outcome == TimedOut || last.Outcome == NoProgress
	switch {
	case failed && last.Err != "":
		return join(s.Unreached, last.Err, remark, "stopped by "+describe(s.Limit, s.LimitText))
	case s.Limit.Class == limit.None || s.LimitText == "":
		return join(s.Unreached, class, remark)
	case remark == "":
		return join(s.Unreached, describe(s.Limit, s.LimitText))
	default:
		return join(s.Unreached, class+", "+remark+": "+s.LimitText)
	}
}

// retry is the quoted command with which a person continues the session.
func (s Session) retry() string { return "`resumed retry " + Typed(s.Key, s.Name) + "`" }

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// The first words of the reason of a session that is not stopped any more.
const (
	WorksAgain = "works again"
	WentOn     = "continued by itself"
)

// OneByOne is the reason of a session that waits for another one of its account. It does not name that
// one, because each change would rewrite the reasons of all others: Account.Probe does.
const OneByOne = "due, but sessions of its account start one after the other (resume.stagger), and after a limit the first one tries alone"

// AsksFor begins the reason of a session whose live process asks a person for something.
const AsksFor = "asks for "

// IsSilent begins the reason of a session whose live process shows no sign of work.
const IsSilent = "silent for "

// Typed is how a printed command names a session: by its whole id, which is valid for ever and on every
// machine, with the agent before it if its name needs that.
func Typed(key Key, name string) string {
	if name == key.String() {
		return name
	}
	return key.ID
}

func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

func ago(d time.Duration) string {
	n, unit := int(d.Hours()), "hour"
	if n >= 48 {
		n, unit = n/24, "day"
	}
	if n == 0 {
		n, unit = int(d.Minutes()), "minute"
	}
	return fmt.Sprintf("%d %s ago", n, plural(n, unit))
}

// SupersededBy says that another session has taken the place of this one, for people.
func (s Session) SupersededBy(other Key) string {
	return fmt.Sprintf("session %s was started in the same directory after this one stopped, so this one is left to you: %s continues it", other.ID, s.retry())
}
