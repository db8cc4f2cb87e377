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
	if e.opts.Rules.Parallel[c.After.Key.Agent] {
		return
	}
	if !c.Before.Interrupted() && c.After.Interrupted() {
		e.join(ctx, c.After, c.At)
	}
	if c.Before.MovedAt.IsZero() && !c.After.MovedAt.IsZero() {
		for key := range e.places[c.After.workplace()] {
			if s := e.sessions[key]; s.Interrupted() {
				e.join(ctx, s, c.At)
			}
		}
	}
}

func (e *Engine) join(ctx context.Context, s Session, now time.Time) {
	if other, ok := e.successor(s); ok {
		e.apply(ctx, s, s, Joined{Newcomer{other, e.sessions[other].BornAt}}, now)
	}
}

// successor returns the session by which a person went on in the same
// directory after this one was stopped.
func (e *Engine) successor(s Session) (Key, bool) {
	if s.Cwd == "" || !s.RetryAskedAt.IsZero() || e.opts.Rules.Parallel[s.Key.Agent] {
		return Key{}, false
	}
	for key := range e.places[s.workplace()] {
		if other := e.sessions[key]; key != s.Key && other.State == Watching && other.BornAt.After(s.LimitedAt) && other.MovedAt.After(s.LimitedAt) {
			return key, true
		}
	}
	return Key{}, false
}

// Superseded says that a person has gone on in the same directory with another
// session, or "".
func (e *Engine) Superseded(ctx context.Context, key Key) (why string, err error) {
	err = e.do(ctx, func(context.Context) {
		s := e.sessions[key]
		other, ok := e.successor(s)
		if n := s.Newcomer; !ok && n != nil && s.RetryAskedAt.IsZero() && !e.opts.Rules.Parallel[key.Agent] {
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
