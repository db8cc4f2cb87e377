package resume

import (
	"slices"
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
		return s.withoutSubagents(Because(WhySubagentsWork))
	}
	s.Subagents = stopped[max(0, len(stopped)-maxSubagents):]
	if s.State == Watching {
		s.Reported, s.Reason = true, Because(WhySubagents)
	}
	return s
}

func (s Session) withoutSubagents(why Reason) Session {
	if len(s.Subagents) > 0 && s.State == Watching {
		s.Reported, s.Reason = false, why
	}
	s.Subagents = nil
	return s
}
