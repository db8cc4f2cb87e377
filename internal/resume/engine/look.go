package engine

import (
	"context"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Session returns one session.
func (e *Engine) Session(ctx context.Context, key resume.Key) (resume.Session, error) {
	var s resume.Session
	known := false
	err := e.do(ctx, func(context.Context) { s, known = e.book.get(key) })
	if err == nil && !known {
		err = resume.ErrNoSession
	}
	return s, err
}

// Standing returns how sessions stand, in the order of their keys; nil: it is not known. Who
// asks must not change them.
func (e *Engine) Standing(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) {
	standing := make([]*resume.Session, len(keys))
	err := e.do(ctx, func(context.Context) {
		for i, key := range keys {
			standing[i] = e.book.shared(key)
		}
	})
	return standing, err
}

// Sessions returns all sessions, in no particular order, each with its name:
// who asks may show it to somebody.
func (e *Engine) Sessions(ctx context.Context) ([]*resume.Session, error) {
	var all []*resume.Session
	err := e.do(ctx, func(context.Context) {
		all = make([]*resume.Session, 0, len(e.book.sessions))
		for s := range e.book.all() {
			if !s.IsPlaceholder() {
				all = append(all, new(e.named(s)))
			}
		}
	})
	return all, err
}

// Kept returns the sessions that are worth keeping, in no particular order. They must not
// be changed: of ten thousand, copies are ten megabytes for every look at the page.
func (e *Engine) Kept(ctx context.Context) ([]*resume.Session, error) {
	var kept []*resume.Session
	err := e.do(ctx, func(context.Context) {
		kept = make([]*resume.Session, 0, len(e.book.active))
		for key := range e.book.active {
			s := e.book.shared(key)
			if !s.WorthKeeping() || s.IsPlaceholder() {
				continue
			}
			if s.Name == "" {
				s = new(e.named(*s))
			}
			kept = append(kept, s)
		}
	})
	return kept, err
}

// These returns those of the sessions that are known.
func (e *Engine) These(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) {
	these := make([]*resume.Session, 0, len(keys))
	err := e.do(ctx, func(context.Context) {
		for _, key := range keys {
			if s, known := e.book.get(key); known && !s.IsPlaceholder() {
				these = append(these, new(e.named(s)))
			}
		}
	})
	return these, err
}

// named gives a session a name if it has none.
func (e *Engine) named(s resume.Session) resume.Session {
	if s.Name == "" {
		s.Name = e.book.name(s.Key)
		e.book.put(s)
	}
	return s
}

// Find returns the session that a person means, as the function Find does among all.
func (e *Engine) Find(ctx context.Context, text string) (resume.Key, error) {
	var views []view.Session
	err := e.do(ctx, func(context.Context) {
		for s := range e.book.fitting(text) {
			views = append(views, view.Of(e.named(s), 0))
		}
	})
	if err != nil {
		return resume.Key{}, err
	}
	found, err := view.Find(views, text)
	return found.Key(), err
}

// Backoff returns how long is waited before each resume of a session.
func (e *Engine) Backoff(ctx context.Context, key resume.Key) (waits view.Backoff, err error) {
	failed := e.do(ctx, func(context.Context) {
		s, known := e.book.get(key)
		if !known {
			err = resume.ErrNoSession
			return
		}
		waits = view.BackoffOf(e.opts.Rules, s)
	})
	if failed != nil {
		return waits, failed
	}
	return waits, err
}

// Accounts returns how the accounts stand, in no particular order.
func (e *Engine) Accounts(ctx context.Context) ([]resume.Account, error) {
	var all []resume.Account
	err := e.do(ctx, func(context.Context) {
		now := wallNow()
		for key, a := range e.accounts {
			all = append(all, resume.Account{AccountKey: key, State: a.state(now), ResetAt: a.resetAt(now), Sessions: a.sessions, Kept: a.kept, MovedAt: a.movedAt})
		}
	})
	return all, err
}

// Running returns how many resumes run.
func (e *Engine) Running(ctx context.Context) (n int, err error) {
	err = e.do(ctx, func(context.Context) { n = e.running })
	return n, err
}

// Tallies returns how many sessions of each agent stand where.
func (e *Engine) Tallies(ctx context.Context) (map[string]resume.Tally, error) {
	tallies := make(map[string]resume.Tally)
	err := e.do(ctx, func(context.Context) {
		for agent, tally := range e.book.tally {
			if tally.Known() > 0 {
				tallies[agent] = *tally
			}
		}
	})
	return tallies, err
}
