package resume

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const maxSubagents = 20

// WorkSince returns since when the session does its current work: a person gave it a prompt, or it
// continued after an interruption. Subagents that were stopped before that do not matter any more.
func (s Session) WorkSince() time.Time { return Later(s.PromptedAt, s.RecoveredAt) }

// withSubagents sets the subagents that were stopped. If the session itself is not stopped, it is not
// resumed for them: a person is told, once.
func (s Session) withSubagents(stopped []Subagent) Session {
	stopped = slices.DeleteFunc(slices.Clone(stopped), func(a Subagent) bool { return a.At.Before(s.WorkSince()) })
	if len(stopped) == 0 {
		return s.withoutSubagents("its subagents continued")
	}
	s.Subagents = stopped[max(0, len(stopped)-maxSubagents):]
	if s.State == Watching {
		s.Reported = true
		s.Reason = SubagentsStopped(s.Subagents) + "; the session itself was not stopped, so it is left to you: ask it to continue them" + after(s.Subagents)
	}
	return s
}

func (s Session) withoutSubagents(why string) Session {
	if len(s.Subagents) > 0 && s.State == Watching {
		s.Reported, s.Reason = false, why
	}
	s.Subagents = nil
	return s
}

const namedSubagents = 3

// SubagentsStopped says which subagents were stopped and by what, for people; empty: none.
func SubagentsStopped(stopped []Subagent) string {
	n := len(stopped)
	if n == 0 {
		return ""
	}
	var names []string
	for _, a := range stopped[:min(n, namedSubagents)] {
		names = append(names, a.named())
	}
	if n > namedSubagents {
		names = append(names, fmt.Sprintf("%d more", n-namedSubagents))
	}
	verb := map[bool]string{true: "was", false: "were"}[n == 1]
	return fmt.Sprintf("%d %s %s stopped by %s: %s", n, plural(n, "subagent"), verb, stopped[n-1].Class.Words(), strings.Join(names, ", "))
}

func (a Subagent) named() string {
	switch {
	case a.About == "" && a.Kind == "":
		return a.ID
	case a.About == "":
		return a.Kind
	case a.Kind == "":
		return a.About
	default:
		return fmt.Sprintf("%s (%s)", a.About, a.Kind)
	}
}

// after says from when on subagents can continue; empty: not known.
func after(stopped []Subagent) string {
	var last time.Time
	for _, a := range stopped {
		last = Later(last, a.Reset)
	}
	if last.IsZero() {
		return ""
	}
	return " after " + last.UTC().Format(time.RFC3339)
}
