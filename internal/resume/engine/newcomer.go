package engine

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"resumed/internal/resume"
)

// workplace is where sessions of one agent meet.
type workplace struct{ agent, dir string }

func workplaceOf(s resume.Session) workplace { return workplace{s.Key.Agent, s.Cwd} }

// meeting is the sessions that meet in one workplace.
type meeting struct {
	working sorted[*entry] // by when they began
	stopped map[*entry]struct{}
}

// settle notes where a session works.
func (b *book) settle(e *entry, s resume.Session) {
	if s.Cwd == "" || s.StandsIn() {
		return
	}
	p := b.places[workplaceOf(s)]
	if p == nil {
		p = &meeting{working: sorted[*entry]{compare: compareBorn}}
		b.places[workplaceOf(s)] = p
	}
	if s.Interrupted() {
		if p.stopped == nil { // seldom anybody is
			p.stopped = make(map[*entry]struct{})
		}
		p.stopped[e] = struct{}{}
	} else {
		p.working.add(e)
	}
}

// unsettle notes that a session does not work there any longer. Its entry must
// be as it was when it was settled.
func (b *book) unsettle(e *entry, s resume.Session) {
	p := b.places[workplaceOf(s)]
	if p == nil {
		return
	}
	delete(p.stopped, e)
	p.working.remove(e)
	if p.working.size == 0 && len(p.stopped) == 0 {
		delete(b.places, workplaceOf(s))
	}
}

func (p *meeting) all() []*entry {
	return slices.AppendSeq(p.working.all(), maps.Keys(p.stopped))
}

func compareBorn(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.bornAt(), b.bornAt()), compareEntries(a, b))
}

// bornAt returns when the session began, as an entry keeps it.
func (e *entry) bornAt() int64 {
	if e.whole() == nil {
		return e.born
	}
	at, _ := packTime(e.whole().BornAt)
	return at
}

// stoppedAt returns those who were stopped in a workplace.
func (b *book) stoppedAt(w workplace) iter.Seq[resume.Session] {
	p := b.places[w]
	if p == nil {
		return b.read(nil)
	}
	return b.read(slices.Collect(maps.Keys(p.stopped)))
}

// begunSince returns those who were begun in a workplace after a time, and work.
func (b *book) begunSince(w workplace, since time.Time) iter.Seq[resume.Session] {
	return func(yield func(resume.Session) bool) {
		p := b.places[w]
		if p == nil {
			return
		}
		at, _ := packTime(since)
		probe := b.like(resume.Key{})
		probe.born = at + 1
		for e := range p.working.from(probe) {
			if b.looks++; !yield(e.session()) {
				return
			}
		}
	}
}

// meet lets the sessions that are stopped remember by which one a person went
// on in their directory. Who was never stopped is kept neither over a restart nor
// for ever, and what was read of it is not read again.
func (e *Engine) meet(ctx context.Context, c resume.Change) {
	if c.After.Cwd == "" || e.opts.Rules.Parallel[c.After.Key.Agent] {
		return
	}
	if !c.Before.Interrupted() && c.After.Interrupted() {
		e.join(ctx, c.After, c.At)
	}
	if begins := c.Before.MovedAt.IsZero() || c.Before.Kind != c.After.Kind; begins && !c.After.MovedAt.IsZero() {
		at := c.At // a step is large, and must not be moved into the heap for this
		for s := range e.book.stoppedAt(workplaceOf(c.After)) {
			e.join(ctx, s, at)
		}
	}
}

// join notes a newcomer whether or not the rules of today care for it: it may be
// gone when they are others.
func (e *Engine) join(ctx context.Context, s resume.Session, now time.Time) {
	other, ok := e.newcomer(s)
	if !ok || s.Newcomer != nil && *s.Newcomer == other {
		return
	}
	if known := s.Newcomer; known != nil && known.Key != other.Key && other.Kind == resume.Headless {
		if known.Kind != resume.Headless && known.BornAt.After(s.LimitedAt) && !e.interrupted(known.Key) {
			return // a side job tells less than a person who has gone on
		}
	}
	e.apply(ctx, s, s, resume.Joined{Newcomer: other}, now)
}

// newcomer returns the session by which somebody went on in the same directory
// after this one was stopped, a person rather than a side job.
func (e *Engine) newcomer(s resume.Session) (found resume.Newcomer, ok bool) {
	if s.Cwd == "" || e.opts.Rules.Parallel[s.Key.Agent] || s.Pending() {
		return found, false // nobody knows where it works, or that says nothing
	}
	for other := range e.book.begunSince(workplaceOf(s), s.LimitedAt) {
		if other.Key == s.Key || other.State != resume.Watching || !other.MovedAt.After(s.LimitedAt) {
			continue
		}
		if found, ok = (resume.Newcomer{Key: other.Key, BornAt: other.BornAt, Kind: other.Kind}), true; other.Kind != resume.Headless {
			break
		}
	}
	return found, ok
}

// successor returns the newcomer that has taken the session's place, by the
// rules in force. A person who asks for the session gets it.
func (e *Engine) successor(s resume.Session) (resume.Key, bool) {
	if !s.RetryAskedAt.IsZero() {
		return resume.Key{}, false
	}
	other, ok := e.newcomer(s)
	return other.Key, ok && e.opts.Rules.Replaces(s.Key.Agent, other.Kind)
}

// Superseded says that a person has gone on in the same directory with another
// session, or "".
func (e *Engine) Superseded(ctx context.Context, key resume.Key) (why string, err error) {
	err = e.do(ctx, func(context.Context) {
		s, _ := e.book.get(key)
		other, ok := e.successor(s)
		if n := s.Newcomer; !ok && n != nil && s.RetryAskedAt.IsZero() && e.opts.Rules.Replaces(key.Agent, n.Kind) {
			// After a restart, or when it has rested for long, nothing is known of
			// it unless it was stopped too.
			other, ok = n.Key, n.BornAt.After(s.LimitedAt) && !e.interrupted(n.Key)
		}
		if ok {
			why = s.SupersededBy(other)
		}
	})
	return why, err
}

func (e *Engine) interrupted(key resume.Key) bool {
	s, _ := e.book.get(key)
	return s.Interrupted()
}
