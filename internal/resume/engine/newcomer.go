package engine

import (
	"context"
	"time"

	"resumed/internal/resume"
)

// meet stores in stopped sessions which newcomer continued in their directory. The newcomer itself is
// not stored if it was never stopped, and its transcript is not read again.
func (e *Engine) meet(ctx context.Context, c resume.Change) {
	if c.After.Cwd == "" || e.opts.Rules.Parallel[c.After.Key.Agent] {
		return
	}
	if !c.Before.Interrupted() && c.After.Interrupted() {
		e.join(ctx, c.After, c.At)
	}
	if begins := c.Before.MovedAt.IsZero() || c.Before.Kind != c.After.Kind; begins && !c.After.MovedAt.IsZero() {
		at := c.At // c is large, and would escape to the heap if it was used below
		for s := range e.book.stoppedIn(dirOf(&c.After)) {
			e.join(ctx, s, at)
		}
	}
}

// join stores a newcomer even if the current rules ignore it: it may be gone when they change.
func (e *Engine) join(ctx context.Context, s resume.Session, now time.Time) {
	other, ok := e.newcomer(s)
	if !ok || s.Newcomer != nil && *s.Newcomer == other {
		return
	}
	if known := s.Newcomer; known != nil && known.Key != other.Key && other.Kind == resume.Headless {
		if known.Kind != resume.Headless && known.BornAt.After(s.LimitedAt) && !e.interrupted(known.Key) {
			return // a headless session says less than a person who continued
		}
	}
	e.apply(ctx, s, s, resume.Joined{Newcomer: other}, now)
}

// newcomer returns the session that continued in the same directory after this one was stopped; an
// interactive one is preferred.
func (e *Engine) newcomer(s resume.Session) (found resume.Newcomer, ok bool) {
	if s.Cwd == "" || e.opts.Rules.Parallel[s.Key.Agent] || s.Pending() {
		return found, false // the directory is not known, or says nothing
	}
	for other := range e.book.begunSince(dirOf(&s), s.LimitedAt) {
		if other.Key == s.Key || other.State != resume.Watching || !other.MovedAt.After(s.LimitedAt) {
			continue
		}
		if found, ok = (resume.Newcomer{Key: other.Key, BornAt: other.BornAt, Kind: other.Kind}), true; other.Kind != resume.Headless {
			break
		}
	}
	return found, ok
}

// successor returns the newcomer that has taken the session's place, by the current rules. If a person
// asked for a retry, there is none.
func (e *Engine) successor(s resume.Session) (resume.Key, bool) {
	if !s.RetryAskedAt.IsZero() {
		return resume.Key{}, false
	}
	other, ok := e.newcomer(s)
	return other.Key, ok && e.opts.Rules.Replaces(s.Key.Agent, other.Kind)
}

// Superseded says that a person has continued in the same directory with another session, or "".
func (e *Engine) Superseded(ctx context.Context, key resume.Key) (string, error) {
	return ask(ctx, e, func(context.Context) (string, error) {
		s, _ := e.book.get(key)
		other, ok := e.successor(s)
		if n := s.Newcomer; !ok && n != nil && s.RetryAskedAt.IsZero() && e.opts.Rules.Replaces(key.Agent, n.Kind) {
			// After a restart, or a long idle time, the newcomer is not known unless it was stopped
			// too.
			other, ok = n.Key, n.BornAt.After(s.LimitedAt) && !e.interrupted(n.Key)
		}
		if !ok {
			return "", nil
		}
		return s.SupersededBy(other), nil
	})
}

func (e *Engine) interrupted(key resume.Key) bool {
	s, _ := e.book.get(key)
	return s.Interrupted()
}
