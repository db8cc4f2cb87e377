package fleet

import (
	"context"
	"errors"
	"time"
)

const (
	// ShownSkew is how far a clock may be off before that is reported.
	ShownSkew = 30 * time.Second

	// LargestSkew is how far a clock may be off for its host to take part in the fleet.
	LargestSkew = 5 * time.Minute

	// slowAnswer is how long the store may take to return its time: after that the answer is too
	// inexact.
	slowAnswer = 2 * time.Second
)

// clock converts to the fleet's time: that is the store's clock, so that all hosts compare with the
// same one.
type clock struct {
	offset   time.Duration
	measured bool // otherwise no time of this host may be written for others
}

var errSlow = errors.New("the store takes too long to say what time it is")

// fleet converts a time of this host to the fleet's time, and local the other way round.
func (c clock) fleet(t time.Time) time.Time { return shift(t, c.offset) }
func (c clock) local(t time.Time) time.Time { return shift(t, -c.offset) }

func shift(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

func (c clock) skewed() bool { return c.offset.Abs() > LargestSkew }

func (f *Fleet) measure(ctx context.Context) error {
	before := f.now()
	theirs, err := f.opts.Store.Now(ctx)
	took := f.now().Sub(before)
	slow := took < 0 || took >= slowAnswer
	if err == nil && slow && !f.clock.measured {
		err = errSlow
	}
	if f.noteAnswer(false, err); err != nil || slow {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = clock{theirs.Sub(before.Add(took / 2)).Round(time.Millisecond), true}
	for _, a := range f.accounts {
		f.derive(a)
	}
	return nil
}

// Heartbeat is the default interval at which a host renews its lease.
const Heartbeat = 15 * time.Second

// renewals is how many heartbeats a lease lasts: two of three may be lost.
const renewals = 3

// pace computes the times that depend on the heartbeat of a host: a permission to start must end before
// its lease does.
type pace struct{ heartbeat time.Duration }

// lease is how long a lease lasts that is renewed with every heartbeat.
func (p pace) lease() time.Duration { return renewals * p.heartbeat }

// silence is how long the store may not answer before this host continues alone.
func (p pace) silence() time.Duration { return 2 * p.heartbeat }

// again is when a failed step is tried again.
func (p pace) again() time.Duration { return p.heartbeat / 3 }

// slotFor is how long a permission to start is valid if an account is closed: it has no lease.
const slotFor = 10 * time.Second

// goodFor is how long a permission to probe is valid, and how long ago a lease may have been
// confirmed for an action that only its holder may take.
func (p pace) goodFor() time.Duration { return min(10*time.Second, p.heartbeat*2/3) }

// manyHosts is how many hosts renew their leases at the configured heartbeat. If there are more, each
// does so less often: the number of writes per second stays the same.
const manyHosts = 1000

// listsHosts reports whether this host lists the other hosts now. The host that reports to people
// always does; of many others a random part does.
func (f *Fleet) listsHosts() bool {
	return f.notifier.rev != 0 || f.opts.Rand()*float64(len(f.hosts)) <= manyHosts
}

// patience is how far away the next heartbeat may be. If the store did not answer, a write is tried
// soon.
func (f *Fleet) patience() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing {
		return f.pace.heartbeat
	}
	return f.host.lasts / renewals
}

// interval is how often this host renews its lease, for the number of hosts that were last seen.
func (f *Fleet) interval() time.Duration {
	return f.pace.heartbeat * time.Duration(max(len(f.hosts), manyHosts)) / manyHosts
}
