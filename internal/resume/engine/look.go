package engine

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// Session returns one session.
func (e *Engine) Session(ctx context.Context, key resume.Key) (resume.Session, error) {
	return ask(ctx, e, func(context.Context) (resume.Session, error) { return e.known(key) })
}

// Lookup returns sessions in the order of their keys; nil: not known. The caller must not change them.
func (e *Engine) Lookup(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) {
	return ask(ctx, e, func(context.Context) ([]*resume.Session, error) {
		found := make([]*resume.Session, len(keys))
		for i, key := range keys {
			found[i] = e.book.sessions[key]
		}
		return found, nil
	})
}

// Sessions returns all sessions in the order of their ids, each with its name. The caller must not change
// them: copies of ten thousand would be ten megabytes for every view of the page.
func (e *Engine) Sessions(ctx context.Context) ([]*resume.Session, error) {
	return e.shown(ctx, e.book.byID.from(resume.Key{}), func(*resume.Session) bool { return true })
}

// Stored returns those of Sessions that are WorthKeeping.
func (e *Engine) Stored(ctx context.Context) ([]*resume.Session, error) {
	return e.shown(ctx, e.book.byID.from(resume.Key{}), func(s *resume.Session) bool { return s.WorthKeeping() })
}

// These returns the sessions with these keys that are known.
func (e *Engine) These(ctx context.Context, keys []resume.Key) ([]*resume.Session, error) {
	return e.shown(ctx, slices.Values(keys), func(*resume.Session) bool { return true })
}

// shown leaves out placeholders.
func (e *Engine) shown(ctx context.Context, keys iter.Seq[resume.Key], fits func(*resume.Session) bool) ([]*resume.Session, error) {
	return ask(ctx, e, func(context.Context) (all []*resume.Session, _ error) {
		for key := range keys {
			s := e.book.sessions[key]
			if s == nil || s.IsPlaceholder() || !fits(s) {
				continue
			}
			if s.Name == "" {
				s = new(e.named(*s))
			}
			all = append(all, s)
		}
		return all, nil
	})
}

func (e *Engine) named(s resume.Session) resume.Session {
	if s.Name == "" {
		s.Name = e.book.name(s.Key)
		e.book.put(s)
	}
	return s
}

// Find returns the session that a person means, as view.Find does for all sessions.
func (e *Engine) Find(ctx context.Context, text string) (resume.Key, error) {
	return ask(ctx, e, func(context.Context) (resume.Key, error) {
		var views []view.Session
		for s := range e.book.fitting(text) {
			views = append(views, view.Of(e.named(s), 0))
		}
		found, err := view.Find(views, text)
		return found.Key(), err
	})
}

// Backoff returns the waits before each resume of a session.
func (e *Engine) Backoff(ctx context.Context, key resume.Key) (view.Backoff, error) {
	return ask(ctx, e, func(context.Context) (view.Backoff, error) {
		s, err := e.known(key)
		if err != nil {
			return view.Backoff{}, err
		}
		return view.BackoffOf(e.opts.Rules, s), nil
	})
}

// Accounts returns the states of the accounts, in no particular order.
func (e *Engine) Accounts(ctx context.Context) ([]resume.Account, error) {
	return ask(ctx, e, func(context.Context) (all []resume.Account, _ error) {
		now := wallNow()
		for key, a := range e.accounts {
			account := resume.Account{AccountKey: key, State: a.state(now), ResetAt: a.resetAt(now), Sessions: a.sessions, Kept: a.kept, MovedAt: a.movedAt}
			if t := a.alone(resume.Key{}, e.opts.Rules, now); t != nil {
				account.Probe = &resume.Probe{Session: t.key.ID, Name: cmp.Or(e.book.sessions[t.key].Name, t.key.ID), Since: t.at.UTC(), Until: t.at.Add(probeTime(e.opts.Rules)).UTC()}
			}
			all = append(all, account)
		}
		return all, nil
	})
}

// Running returns how many resumes run.
func (e *Engine) Running(ctx context.Context) (int, error) {
	return ask(ctx, e, func(context.Context) (int, error) { return e.running, nil })
}

// Tallies returns how many sessions of each agent are in each state.
func (e *Engine) Tallies(ctx context.Context) (map[string]resume.Tally, error) {
	return ask(ctx, e, func(context.Context) (map[string]resume.Tally, error) {
		tallies := make(map[string]resume.Tally)
		for key, s := range e.book.sessions {
			if !s.IsPlaceholder() {
				tally := tallies[key.Agent]
				tally[s.State]++
				tallies[key.Agent] = tally
			}
		}
		return tallies, nil
	})
}
