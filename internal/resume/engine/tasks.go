package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"resumed/internal/resume"
)

// ErrStarting is returned for a task that cannot be changed any more.
var ErrStarting = errors.New("it is being started, or has started already")

// Tasks returns the sessions that are tasks, or were tasks not long ago, in order.
func (e *Engine) Tasks(ctx context.Context) ([]resume.Session, error) {
	return ask(ctx, e, func(context.Context) ([]resume.Session, error) { return e.inOrder(), nil })
}

func (e *Engine) inOrder() []resume.Session {
	var all []resume.Session
	for key := range e.tasks {
		s, _ := e.book.get(key)
		all = append(all, e.named(s))
	}
	resume.SortTasks(all)
	return all
}

// Enqueue adds a task: a session that has only its key, its account, its directory and the task.
func (e *Engine) Enqueue(ctx context.Context, s resume.Session) (resume.Session, error) {
	return ask(ctx, e, func(ctx context.Context) (resume.Session, error) {
		if _, known := e.book.get(s.Key); known {
			return resume.Session{}, fmt.Errorf("there is a session %s already", s.Key)
		}
		return e.enqueue(ctx, resume.Session{}, e.numbers.Give(s)), nil
	})
}

func (e *Engine) enqueue(ctx context.Context, before, s resume.Session) resume.Session {
	now := wallNow()
	s.FoundAt = now
	return e.apply(ctx, before, s, resume.Enqueued{}, now)
}

// ReplaceTask replaces a task that has not started.
func (e *Engine) ReplaceTask(ctx context.Context, key resume.Key, s resume.Session) (resume.Session, error) {
	return ask(ctx, e, func(ctx context.Context) (resume.Session, error) {
		old, known := e.book.get(key)
		if err := changeable(old, known); err != nil {
			return resume.Session{}, err
		}
		s = s.WithTask(func(t *resume.Task) { t.N, t.Place, t.AddedAt = old.Task.N, old.Task.Place, old.Task.AddedAt })
		before := resume.Session{}
		if s.Key == key {
			before, s.Name, s.Runs = old, old.Name, old.Runs
		} else {
			e.apply(ctx, old, old, resume.Forget{}, wallNow())
		}
		return e.enqueue(ctx, before, s), nil
	})
}

func changeable(s resume.Session, known bool) error {
	switch {
	case !known || s.Task == nil:
		return resume.ErrNoSession
	case !s.Pending() || s.Run != nil || s.State == resume.Settling:
		return ErrStarting
	default:
		return nil
	}
}

// DropTask forgets a task. If it has started, its session stays.
func (e *Engine) DropTask(ctx context.Context, key resume.Key) error {
	_, err := ask(ctx, e, func(ctx context.Context) (resume.Session, error) {
		s, known := e.book.get(key)
		if known && s.Task != nil && !s.Pending() && s.Run == nil {
			return e.apply(ctx, s, s, resume.Relisted{}, wallNow()), nil
		}
		if err := changeable(s, known); err != nil {
			return s, err
		}
		return e.apply(ctx, s, s, resume.Forget{}, wallNow()), nil
	})
	return err
}

// MoveTask moves a task to the place of another one. That one and those between them move by one.
func (e *Engine) MoveTask(ctx context.Context, key, to resume.Key) error {
	_, err := ask(ctx, e, func(ctx context.Context) (all []resume.Session, _ error) {
		all = e.inOrder()
		at := func(key resume.Key) int {
			return slices.IndexFunc(all, func(s resume.Session) bool { return s.Key == key })
		}
		from, place := at(key), at(to)
		if from < 0 || place < 0 {
			return nil, resume.ErrNoSession
		}
		moved := all[from]
		all = slices.Insert(slices.Delete(all, from, from+1), place, moved)
		for i, s := range all {
			if s.Task.Place != i+1 {
				e.apply(ctx, s, s, resume.Relisted{Place: i + 1}, wallNow())
			}
		}
		return all, nil
	})
	return err
}

// behind says why a session waits for another one: it is a task that is to start after that, or the
// command that started it still runs.
func (e *Engine) behind(s resume.Session, now time.Time) (why resume.Reason, until time.Time) {
	for key := range e.tasks {
		if t := e.book.sessions[key]; t != nil && t.Run != nil && t.Key != s.Key && t.MayHaveStarted(s) {
			return resume.Because(resume.WhyCommandRuns), time.Time{}
		}
	}
	if !s.Pending() || s.Task.Behind == (resume.Key{}) || !s.RetryAskedAt.IsZero() {
		return resume.Reason{}, time.Time{}
	}
	return e.atWork(s.Task.Behind, now)
}

// atWork returns that a session is not done with its prompt; zero: it is. A session that is not known any longer
// is done.
func (e *Engine) atWork(key resume.Key, now time.Time) (why resume.Reason, until time.Time) {
	s, known := e.book.get(key)
	what := "session " + resume.Typed(key, s.Name)
	if s.IsPlaceholder() {
		what = fmt.Sprintf("task %d", s.Task.N)
	}
	switch {
	case !known:
		return resume.Reason{}, time.Time{}
	case s.NeedsPerson():
		return resume.Reason{Kind: resume.WhyBehindYou, By: what}, time.Time{}
	case s.Interrupted() || s.Run != nil:
		return resume.Reason{Kind: resume.WhyBehind, By: what}, time.Time{}
	case s.IsPlaceholder():
		return e.atWork(resume.Key{Agent: s.Key.Agent, ID: s.Task.Session}, now)
	}
	if rests := s.QuietSince().Add(e.opts.Rules.Settle); rests.After(now) {
		return resume.Reason{Kind: resume.WhyBehindMoving, By: what}, rests
	}
	return resume.Reason{}, time.Time{}
}

// usualProvider returns the provider that answers for an account, judged by its sessions: the provider
// of a task is not known yet.
func (e *Engine) usualProvider(name string) string {
	var latest time.Time
	provider := ""
	for key, a := range e.accounts {
		if at := resume.Later(a.movedAt, a.limitedAt); key.Name == name && at.After(latest) {
			latest, provider = at, key.Provider
		}
	}
	return provider
}
