package resume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrStarting is returned for a task that cannot be changed any more.
var ErrStarting = errors.New("it is being started, or has started already")

// Tasks returns the sessions that are tasks, or were not long ago, in their order.
func (e *Engine) Tasks(ctx context.Context) ([]Session, error) {
	var all []Session
	err := e.do(ctx, func(context.Context) { all = e.inOrder() })
	return all, err
}

func (e *Engine) inOrder() []Session {
	var all []Session
	for key := range e.tasks {
		s, _ := e.book.get(key)
		all = append(all, e.named(s))
	}
	SortTasks(all)
	return all
}

// SortTasks puts tasks into their order.
func SortTasks(tasks []Session) {
	slices.SortFunc(tasks, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Task.Place, b.Task.Place), cmp.Compare(a.Task.N, b.Task.N))
	})
}

// TaskNumbers are the last number and the last place of the tasks that it knows. Numbers
// are given once, and again only when no other task is left.
type TaskNumbers struct{ n, place int }

// Note takes note of a task; a session that is none is nothing to it.
func (l *TaskNumbers) Note(s Session) {
	if s.Task != nil {
		l.n, l.place = max(l.n, s.Task.N), max(l.place, s.Task.Place)
	}
}

// Give returns a task with a number and a place behind all the others.
func (l *TaskNumbers) Give(s Session) Session {
	l.n, l.place = l.n+1, l.place+1
	return s.withTask(func(t *Task) { t.N, t.Place = l.n, l.place })
}

func (e *Engine) dropTask(key Key) {
	delete(e.tasks, key)
	delete(e.working, key)
	if len(e.tasks) == 0 {
		e.numbers = TaskNumbers{}
	}
}

// Enqueue takes a task, which is a session with no more than its key, its account, its
// directory and the task itself.
func (e *Engine) Enqueue(ctx context.Context, s Session) (after Session, err error) {
	failed := e.do(ctx, func(ctx context.Context) {
		if _, known := e.book.get(s.Key); known {
			err = fmt.Errorf("there is a session %s already", s.Key)
			return
		}
		after = e.enqueue(ctx, Session{}, e.numbers.Give(s))
	})
	return after, errors.Join(failed, err)
}

func (e *Engine) enqueue(ctx context.Context, before, s Session) Session {
	now := wallNow()
	s.FoundAt = now
	return e.apply(ctx, before, s, Enqueued{}, now)
}

// ReplaceTask puts a task in the place of another one that was not begun.
func (e *Engine) ReplaceTask(ctx context.Context, key Key, s Session) (after Session, err error) {
	failed := e.do(ctx, func(ctx context.Context) {
		old, known := e.book.get(key)
		if err = changeable(old, known); err != nil {
			return
		}
		s = s.withTask(func(t *Task) { t.N, t.Place, t.AddedAt = old.Task.N, old.Task.Place, old.Task.AddedAt })
		before := Session{}
		if s.Key == key {
			before, s.Name, s.Runs = old, old.Name, old.Runs
		} else {
			e.apply(ctx, old, old, Forget{}, wallNow())
		}
		after = e.enqueue(ctx, before, s)
	})
	return after, errors.Join(failed, err)
}

// changeable says why a task cannot be another one, or nothing.
func changeable(s Session, known bool) error {
	switch {
	case !known || s.Task == nil:
		return ErrNoSession
	case !s.Pending() || s.Run != nil || s.State == Settling:
		return ErrStarting
	default:
		return nil
	}
}

// DropTask forgets a task. The session of one that was begun stays.
func (e *Engine) DropTask(ctx context.Context, key Key) (err error) {
	failed := e.do(ctx, func(ctx context.Context) {
		s, known := e.book.get(key)
		switch err = changeable(s, known); {
		case err == nil:
			e.apply(ctx, s, s, Forget{}, wallNow())
		case known && s.Task != nil && !s.Pending() && s.Run == nil:
			e.apply(ctx, s, s, Unlisted{}, wallNow())
			err = nil
		}
	})
	return errors.Join(failed, err)
}

// MoveTask gives a task the place that another one has: that one, and those between
// them, make room.
func (e *Engine) MoveTask(ctx context.Context, key, to Key) (err error) {
	failed := e.do(ctx, func(ctx context.Context) {
		all := e.inOrder()
		at := func(key Key) int { return slices.IndexFunc(all, func(s Session) bool { return s.Key == key }) }
		from, place := at(key), at(to)
		if from < 0 || place < 0 {
			err = ErrNoSession
			return
		}
		moved := all[from]
		all = slices.Insert(slices.Delete(all, from, from+1), place, moved)
		for i, s := range all {
			if s.Task.Place != i+1 {
				e.apply(ctx, s, s, Placed{i + 1}, wallNow())
			}
		}
	})
	return errors.Join(failed, err)
}

// behind says why a session waits for another one: it is a task that is to be begun
// after that, or the command that began it still works.
func (e *Engine) behind(s Session, now time.Time) (why string, until time.Time) {
	for key := range e.working {
		if t, _ := e.book.get(key); t.Key != s.Key && t.mayHaveBegun(s) {
			return "due, but the command that started it still runs", time.Time{}
		}
	}
	if !s.Pending() || s.Task.Behind == (Key{}) || !s.RetryAskedAt.IsZero() {
		return "", time.Time{}
	}
	return e.atWork(s.Task.Behind, now)
}

// mayHaveBegun reports whether the session is the one that the command of the task works
// on, as far as is known: until it has told, it may be any new one of its directory.
func (s Session) mayHaveBegun(other Session) bool {
	switch {
	case s.Run == nil || !s.StandsIn() || s.Key.Agent != other.Key.Agent || other.Pending():
		return false
	case s.Task.Session != "":
		return s.Task.Session == other.Key.ID
	default:
		return s.Cwd == other.Cwd && !other.FoundAt.Before(s.lastStart())
	}
}

// atWork says why a session is not done with what it was told, or nothing. One that
// nobody knows any longer is.
func (e *Engine) atWork(key Key, now time.Time) (why string, until time.Time) {
	s, known := e.book.get(key)
	what := "session " + typed(key, s.Name)
	if s.StandsIn() {
		what = fmt.Sprintf("task %d", s.Task.N)
	}
	switch {
	case !known:
		return "", time.Time{}
	case s.over():
		return "due, but " + what + " comes first, and that needs you", time.Time{}
	case s.Interrupted() || s.Run != nil:
		return "due, but " + what + " comes first", time.Time{}
	case s.StandsIn():
		return e.atWork(Key{s.Key.Agent, s.Task.Session}, now)
	}
	if rests := s.quietSince().Add(e.opts.Rules.Settle); rests.After(now) {
		return "due, but " + what + " comes first: it has only just moved (resume.settle)", rests
	}
	return "", time.Time{}
}

// usualProvider returns who answers in an account, as far as its sessions tell: a
// task does not know yet whom it will ask.
func (e *Engine) usualProvider(name string) string {
	var latest time.Time
	provider := ""
	for key, a := range e.accounts {
		if at := later(a.movedAt, a.limitedAt); key.Name == name && at.After(latest) {
			latest, provider = at, key.Provider
		}
	}
	return provider
}
