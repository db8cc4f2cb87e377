package resume

import (
	"context"
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

// Who takes the place of a session that was stopped.
const (
	InteractiveNewcomers Newcomers = "interactive" // a person went on with it; a side job of a script or a hook is none's work but its own
	AnyNewcomer          Newcomers = "any"
	NoNewcomer           Newcomers = "never"
)

// replaces reports whether a newcomer of that kind takes the place of a session
// of that agent.
func (r Rules) replaces(agent, kind string) bool {
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

// workplace is where sessions of one agent meet.
type workplace struct{ agent, dir string }

func (s Session) workplace() workplace { return workplace{s.Key.Agent, s.Cwd} }

// workplaces are the sessions by where they work.
type workplaces map[workplace]map[Key]struct{}

// follow learns of one step of a session.
func (w workplaces) follow(before, after Session) {
	if before.workplace() != after.workplace() {
		w.leave(before)
	}
	here := w[after.workplace()]
	if here == nil {
		here = make(map[Key]struct{})
		w[after.workplace()] = here
	}
	here[after.Key] = struct{}{}
}

// leave learns that a session is not there any longer.
func (w workplaces) leave(s Session) {
	left := s.workplace()
	if delete(w[left], s.Key); len(w[left]) == 0 {
		delete(w, left)
	}
}

// meet lets the sessions that are stopped remember by which one a person went
// on in their directory. Who was never stopped is kept neither over a restart nor
// for ever, and what was read of it is not read again.
func (e *Engine) meet(ctx context.Context, c Change) {
	if c.After.Cwd == "" || e.opts.Rules.Parallel[c.After.Key.Agent] {
		return
	}
	if !c.Before.Interrupted() && c.After.Interrupted() {
		e.join(ctx, c.After, c.At)
	}
	if begins := c.Before.MovedAt.IsZero() || c.Before.Kind != c.After.Kind; begins && !c.After.MovedAt.IsZero() {
		for key := range e.places[c.After.workplace()] {
			if s := e.sessions[key]; s.Interrupted() {
				e.join(ctx, s, c.At)
			}
		}
	}
}

// join notes a newcomer whether or not the rules of today care for it: it may be
// gone when they are others.
func (e *Engine) join(ctx context.Context, s Session, now time.Time) {
	other, ok := e.newcomer(s)
	if !ok || s.Newcomer != nil && *s.Newcomer == other {
		return
	}
	if known := s.Newcomer; known != nil && known.Key != other.Key && other.Kind == Headless {
		if known.Kind != Headless && known.BornAt.After(s.LimitedAt) && !e.sessions[known.Key].Interrupted() {
			return // a side job tells less than a person who has gone on
		}
	}
	e.apply(ctx, s, s, Joined{other}, now)
}

// newcomer returns the session by which somebody went on in the same directory
// after this one was stopped, a person rather than a side job.
func (e *Engine) newcomer(s Session) (found Newcomer, ok bool) {
	if s.Cwd == "" || e.opts.Rules.Parallel[s.Key.Agent] {
		return found, false // nobody knows where it works, or that says nothing
	}
	for key := range e.places[s.workplace()] {
		other := e.sessions[key]
		later := other.BornAt.After(s.LimitedAt) && other.MovedAt.After(s.LimitedAt)
		if key == s.Key || other.State != Watching || !later {
			continue
		}
		if found, ok = (Newcomer{key, other.BornAt, other.Kind}), true; other.Kind != Headless {
			break
		}
	}
	return found, ok
}

// successor returns the newcomer that has taken the session's place, by the
// rules in force. A person who asks for the session gets it.
func (e *Engine) successor(s Session) (Key, bool) {
	if !s.RetryAskedAt.IsZero() {
		return Key{}, false
	}
	other, ok := e.newcomer(s)
	return other.Key, ok && e.opts.Rules.replaces(s.Key.Agent, other.Kind)
}

// Superseded says that a person has gone on in the same directory with another
// session, or "".
func (e *Engine) Superseded(ctx context.Context, key Key) (why string, err error) {
	err = e.do(ctx, func(context.Context) {
		s := e.sessions[key]
		other, ok := e.successor(s)
		if n := s.Newcomer; !ok && n != nil && s.RetryAskedAt.IsZero() && e.opts.Rules.replaces(key.Agent, n.Kind) {
			// After a restart, or when it has rested for long, nothing is known of
			// it unless it was stopped too.
			_, known := e.sessions[n.Key]
			other, ok = n.Key, n.BornAt.After(s.LimitedAt) && (!known || !e.sessions[n.Key].Interrupted())
		}
		if ok {
			why = supersededBy(other)
		}
	})
	return why, err
}

func supersededBy(other Key) string {
	return fmt.Sprintf("session %s was begun in the same directory after this one was stopped", other.ID)
}
