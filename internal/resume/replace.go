package resume

import (
	"fmt"
	"time"
)

// Newcomer is a session that was begun where another one had been stopped.
type Newcomer struct {
	Key    Key       `json:"key"`
	BornAt time.Time `json:"born_at"`
	Kind   string    `json:"kind,omitempty"` // Interactive or Headless; empty: not told
}

// Newcomers says which of the sessions that are begun where another one had been
// stopped take its place: that one is not resumed then.
type Newcomers string

// The newcomers that take the place of a session that was stopped.
const (
	InteractiveNewcomers Newcomers = "interactive" // a person went on with it; a side job of a script or a hook does not continue that session's work
	AnyNewcomer          Newcomers = "any"
	NoNewcomer           Newcomers = "never"
)

// Replaces reports whether a newcomer of that kind takes the place of a session
// of that agent.
func (r Rules) Replaces(agent, kind string) bool {
	switch {
	case r.Parallel[agent] || r.Newcomers == NoNewcomer:
		return false
	case r.Newcomers == AnyNewcomer:
		return true
	default:
		return kind != Headless
	}
}

// Attended returns the session with what was told of its kind. One that a
// person ever sat before stays theirs, whatever continued it since.
func (s Session) Attended(kind string) Session {
	if kind != "" && s.Kind != Interactive {
		s.Kind = kind
	}
	return s
}

// SupersededBy says in words that another session has taken the place of this one.
func (s Session) SupersededBy(other Key) string {
	return fmt.Sprintf("session %s was started in the same directory after this one stopped, so this one is left to you: %s continues it", other.ID, s.retry())
}
