package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/resume"
)

// tryProbe asks for permission to probe whether the limit is over: first it takes the lease, which only
// one host can have, then it writes the account. It returns when to ask again.
func (f *Fleet) tryProbe(ctx context.Context, id string, was stored) (next time.Time, err error) {
	f.mu.Lock()
	a, rules, now := f.account(id), f.opts.Rules(), f.clock.fleet(f.now())
	lifts := was.Lifts(rules)
	mine, early := a.probe, a.early
	local := f.clock.local(lifts)
	f.mu.Unlock()
	switch {
	case mine != nil && !mine.granted.IsZero():
		return f.now().Add(f.pace.again()), nil // it has the permission already, or probes
	case now.Before(lifts) && !early:
		return f.spread().Add(local.Sub(f.now())), nil
	}
	if taken, err := f.probedElsewhere(ctx, id, was, now); err != nil || taken {
		return f.now().Add(f.pace.heartbeat), err
	}
	if mine == nil {
		mine = f.newProbe(id, now)
	}
	err = f.acquire(ctx, &mine.lease, f.me())
	if _, ok := errors.AsType[*heldError](err); ok && was.State == resume.HalfOpen && now.Sub(was.Probe.At) >= longestProbe {
		err = f.takeOverProbe(ctx, mine)
	}
	if _, ok := errors.AsType[*heldError](err); ok {
		f.dropProbe(ctx, id)
		return f.now().Add(f.pace.heartbeat), nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return f.publishProbe(ctx, id, was, mine, early)
}

// probedElsewhere reports whether another host probes: then its lease cannot be had.
func (f *Fleet) probedElsewhere(ctx context.Context, id string, was stored, now time.Time) (bool, error) {
	if was.State != resume.HalfOpen || now.Sub(was.Probe.At) >= longestProbe {
		return false, nil
	}
	e, err := f.get(ctx, Leases, ProbeKey(id))
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	return err == nil && f.holder(e) != f.me(), err
}

func (f *Fleet) newProbe(id string, now time.Time) *probing {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes++
	p := &probing{Probe: Probe{Host: f.opts.Host, Mark: fmt.Sprintf("%s.%d", f.opts.Life, f.probes), At: now}, lease: lease{key: ProbeKey(id), lasts: f.pace.lease(), mine: true}}
	f.account(id).probe = p
	return p
}

func (f *Fleet) publishProbe(ctx context.Context, id string, was stored, mine *probing, early bool) (time.Time, error) {
	began := f.now()
	mine.At = f.time()
	if !was.ends(mine.Mark) { // otherwise an earlier write has succeeded
		after, ok := was.Probed(mine.Probe, early, f.opts.Rules())
		if !ok {
			f.dropProbe(ctx, id)
			return began.Add(f.pace.again()), nil
		}
		if err := f.write(ctx, id, was, after); err != nil {
			return time.Time{}, err
		}
	}
	f.mu.Lock()
	mine.granted = began
	f.mu.Unlock()
	f.opts.Stir(ctx)
	return began.Add(f.pace.again()), nil
}

// takeOverProbe takes the lease of a host that has probed for longer than longestProbe.
func (f *Fleet) takeOverProbe(ctx context.Context, mine *probing) error {
	e, err := f.get(ctx, Leases, mine.lease.key)
	if errors.Is(err, ErrMissing) {
		return ErrConflict // look again
	}
	if err != nil {
		return err
	}
	mine.lease.rev = e.Rev
	return f.acquire(ctx, &mine.lease, f.me())
}

func (f *Fleet) dropProbe(ctx context.Context, id string) {
	f.mu.Lock()
	a := f.account(id)
	mine := a.probe
	a.probe = nil
	f.mu.Unlock()
	if mine != nil {
		f.releaseLease(ctx, &mine.lease)
	}
}

func (f *Fleet) checkProbe(ctx context.Context, id string) error {
	f.mu.Lock()
	a, now := f.account(id), f.now()
	mine := a.probe
	var ended outcome
	var due bool
	if mine != nil {
		ended = mine.ended(now, a.wants(now, f.pace), f.pace)
		due = now.Sub(mine.lease.at).Abs() >= f.pace.heartbeat
	}
	f.mu.Unlock()
	switch {
	case mine == nil:
		return nil
	case ended != running:
		return f.endProbe(ctx, id, mine, ended)
	case mine.granted.IsZero() || !due:
		return nil
	}
	was, err := f.read(ctx, id)
	if err != nil {
		return err
	}
	if was.limited() { // perhaps again, by the refusal of another session: this one still runs
		err = f.acquire(ctx, &mine.lease, f.me())
	}
	if _, ok := errors.AsType[*heldError](err); ok || !was.limited() {
		f.opts.Metrics.Probed("lost")
		f.dropProbe(ctx, id) // other hosts no longer wait for it
		return nil
	}
	return err
}

// ended returns how a probe ended, if it did. An unused permission is released.
func (p *probing) ended(now time.Time, wanted bool, pace pace) outcome {
	unused := p.begun.IsZero() && (p.granted.IsZero() && !wanted || !p.granted.IsZero() && now.Sub(p.granted).Abs() > pace.goodFor())
	endless := !p.begun.IsZero() && now.Sub(p.begun) >= longestProbe-pace.lease()
	if p.outcome == running && (unused || endless) {
		return released
	}
	return p.outcome
}

// endProbe writes how a probe ended. A refusal was reported before.
func (f *Fleet) endProbe(ctx context.Context, id string, mine *probing, how outcome) error {
	err := f.change(ctx, id, func(a Account) (Account, bool) {
		if how == moved {
			return a.Moved(mine.Mark, f.time(), f.time(), f.opts.Rules())
		}
		return a.Released(mine.Mark)
	})
	if err != nil {
		return err
	}
	if !mine.granted.IsZero() { // otherwise another host was faster
		f.opts.Metrics.Probed(string(how))
	}
	f.dropProbe(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.account(id).tryAt = time.Time{}
	return nil
}

func (f *Fleet) releaseProbe(ctx context.Context, id string) {
	f.mu.Lock()
	mine := f.account(id).probe
	f.mu.Unlock()
	if mine != nil && mine.begun.IsZero() {
		_ = f.endProbe(ctx, id, mine, released) // otherwise its lease expires
	}
}
