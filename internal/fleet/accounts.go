package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/resume"
)

// tries is how often a write is tried again after a conflict, before other accounts have their turn.
const tries = 3

// stored is an account as it was read, with its revision for the next write.
type stored struct {
	Account
	rev uint64
}

func (f *Fleet) accountsThat(is func(*account) bool) (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, a := range f.accounts {
		if is(a) {
			ids = append(ids, id)
		}
	}
	return ids
}

// pending returns the accounts for which there is something to do, now or later.
func (f *Fleet) pending() []string {
	return f.accountsThat(func(a *account) bool {
		return a.refused != nil || !a.moved.IsZero() || a.probe != nil || a.asks(f.now(), f.pace)
	})
}

func (a *account) asks(now time.Time, p pace) bool {
	return !a.asked.IsZero() && now.Sub(a.asked) <= askAgain+p.again()
}

// wants reports whether a session asks, and the store may be asked already.
func (a *account) wants(now time.Time, p pace) bool { return a.asks(now, p) && !a.tryAt.After(now) }

// process does what is due for an account, and returns when there will be more to do; zero: it will be
// woken.
func (f *Fleet) process(ctx context.Context, id string) time.Time {
	if f.report(ctx, id) != nil || f.checkProbe(ctx, id) != nil {
		return f.now().Add(f.pace.again())
	}
	f.serveOnce(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	a, now := f.account(id), f.now()
	switch soon := now.Add(f.pace.again()); {
	case a.probe == nil:
		return a.tryAt
	case a.tryAt.After(now):
		return resume.Earlier(a.tryAt, soon)
	default: // no session asks any longer, and the lease of the probe is renewed
		return soon
	}
}

// serveOnce asks for permission if a session wants it, and stores when to ask again, unless something
// has happened meanwhile that requires to ask at once.
func (f *Fleet) serveOnce(ctx context.Context, id string) {
	asking := f.now().Add(AnswerWithin)
	f.mu.Lock()
	a := f.account(id)
	wants := a.wants(f.now(), f.pace)
	if wants {
		a.tryAt = asking
	}
	f.mu.Unlock()
	if !wants {
		return
	}
	at := f.serve(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.tryAt.Equal(asking) {
		a.tryAt = at
	}
}

func (f *Fleet) read(ctx context.Context, id string) (stored, error) {
	e, err := f.get(ctx, Accounts, id)
	if errors.Is(err, ErrMissing) {
		f.remember(id, stored{})
		return stored{}, nil
	}
	if err != nil {
		return stored{}, err
	}
	a, err := ReadAccount(e)
	if err != nil {
		a = Account{State: resume.Closed} // it is replaced by the next write
	}
	if !f.remember(id, stored{a, e.Rev}) {
		return stored{}, ErrConflict // it is old
	}
	return stored{a, e.Rev}, nil
}

// remember stores the state of an account, and reports false for an old one. What the store does not
// know yet still counts on this host. A server that is behind is behind for seconds: an older state that
// stays is the newest that is left, because what a removed host has written is removed.
func (f *Fleet) remember(id string, now stored) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	here := f.account(id)
	if now.rev != 0 && now.rev < here.last.rev {
		if here.older.rev != now.rev {
			here.older, here.olderSince = now, f.now()
		}
		if f.now().Sub(here.olderSince).Abs() < f.pace.lease() {
			return false
		}
	}
	here.older, here.last = stored{}, now
	f.derive(here)
	if now.limited() {
		here.slotsUntil = time.Time{}
	}
	return true
}

// readLimited reads the accounts that are limited as far as this host knows. It may have missed that
// they are no longer, for example when its connection was lost.
func (f *Fleet) readLimited(ctx context.Context) {
	for _, id := range f.accountsThat(func(a *account) bool { return a.last.limited() }) {
		if _, err := f.read(ctx, id); err != nil {
			return // the next heartbeat tries again
		}
	}
}

// accountChanged stores a change by another host: the store may give permission now.
func (f *Fleet) accountChanged(e Entry) {
	f.mu.Lock()
	a := f.accounts[e.Key]
	f.mu.Unlock()
	if a == nil {
		return // not an account of this host
	}
	now, err := ReadAccount(e)
	if e.Gone || err != nil || !f.remember(e.Key, stored{now, e.Rev}) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.tryAt.Sub(f.now()) > f.pace.again() && now.State != resume.HalfOpen {
		a.tryAt = f.spread()
	}
}

func (f *Fleet) spread() time.Time {
	longest := min(f.opts.Rules().Stagger/2, time.Duration(len(f.hosts))*50*time.Millisecond)
	return f.now().Add(time.Duration(f.opts.Rand() * float64(longest)))
}

func (f *Fleet) write(ctx context.Context, id string, was stored, a Account) error {
	rev, err := f.put(ctx, Accounts, id, a, was.rev, 0)
	if err == nil {
		f.remember(id, stored{a, rev})
	}
	return err
}

// change reads an account and writes its next state, and tries again after a conflict.
func (f *Fleet) change(ctx context.Context, id string, next func(Account) (Account, bool)) error {
	for range tries {
		was, err := f.read(ctx, id)
		if err != nil {
			return err
		}
		a, changed := next(was.Account)
		if !changed {
			return nil
		}
		if err = f.write(ctx, id, was, a); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ErrConflict
}

// report writes what the store does not know yet: a refusal, or that a session worked again when the
// limit should be over.
func (f *Fleet) report(ctx context.Context, id string) error {
	f.mu.Lock()
	a := f.account(id)
	r, at, clock := a.refused, a.moved, f.clock
	f.mu.Unlock()
	if r != nil {
		if err := f.change(ctx, id, func(a Account) (Account, bool) { return a.Refused(clock.refusal(*r)) }); err != nil {
			return err
		}
	}
	if !at.IsZero() {
		if err := f.change(ctx, id, func(a Account) (Account, bool) { return a.Moved("", clock.fleet(at), f.time(), f.opts.Rules()) }); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.refused == r {
		a.refused = nil
	}
	if a.moved.Equal(at) {
		a.moved = time.Time{}
	}
	f.derive(a)
	return nil
}

func (f *Fleet) time() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.fleet(f.now())
}

// serve asks for permission to start a session, and returns when to ask again.
func (f *Fleet) serve(ctx context.Context, id string) (next time.Time) {
	for range tries {
		was, err := f.read(ctx, id)
		if err != nil {
			return f.now().Add(f.pace.again())
		}
		if was.limited() {
			next, err = f.tryProbe(ctx, id, was)
		} else {
			next, err = f.tryStart(ctx, id, was)
		}
		switch {
		case err == nil:
			return next
		case !errors.Is(err, ErrConflict):
			return f.now().Add(f.pace.again())
		}
	}
	return resume.Later(f.spread(), f.now().Add(time.Millisecond))
}

func (f *Fleet) tryStart(ctx context.Context, id string, was stored) (next time.Time, err error) {
	began := f.now()
	standing := f.Standing()
	after, may, changed, step := was.Started(f.opts.Rules(), standing.Hosts, f.opts.Rand(), f.time())
	if changed {
		if err := f.write(ctx, id, was, after); err != nil {
			return time.Time{}, err
		}
	}
	f.mu.Lock()
	a := f.account(id)
	if !step.IsZero() && a.step.Equal(step) {
		may = a.slots // the step was divided before, and this is the rest
	}
	next = began.Add(slotFor)
	a.slotsUntil, a.slots, a.step = next, may, step
	if may == 0 {
		next = f.spread().Add(max(0, f.clock.local(step).Sub(f.now())))
	}
	f.mu.Unlock()
	if may > 0 {
		f.opts.Stir(ctx)
	}
	return next, nil
}

// Forget marks an account as not limited for all hosts, whatever was refused.
func (f *Fleet) Forget(ctx context.Context, id string) error {
	err := f.change(ctx, id, func(a Account) (Account, bool) {
		return a.Forgotten(f.time()), a.limited()
	})
	if err != nil {
		return fmt.Errorf("forget the limit of an account: %w", err)
	}
	return nil
}

// Known returns the accounts that this host has sessions of, by their keys.
func (f *Fleet) Known() map[string]Account {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[string]Account, len(f.accounts))
	for id, a := range f.accounts {
		all[id] = a.known
	}
	return all
}
