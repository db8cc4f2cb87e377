package fleet

import "time"

// Heartbeat is how often a host renews its lease, unless it is configured otherwise.
const Heartbeat = 15 * time.Second

// LeaseTTL is how long a lease lasts then: two of three renewals may be lost.
const (
	LeaseTTL = renewals * Heartbeat
	renewals = 3
)

// pace holds the times that follow from the heartbeat of a host: a permission to start must end before
// the lease behind it does.
type pace struct{ heartbeat time.Duration }

// lease is how long a lease lasts that is renewed with every heartbeat.
func (p pace) lease() time.Duration { return renewals * p.heartbeat }

// silence is how long the store does not answer before this host continues alone.
func (p pace) silence() time.Duration { return 2 * p.heartbeat }

// again is when something that failed is tried again.
func (p pace) again() time.Duration { return p.heartbeat / 3 }

// slotFor is how long a permission to start is valid where an account is closed: no lease is behind it.
const slotFor = 10 * time.Second

// goodFor is how long a permission to probe is valid, and how long ago a lease may have been
// confirmed for an action that only its holder may take.
func (p pace) goodFor() time.Duration { return min(10*time.Second, p.heartbeat*2/3) }

// manyHosts is how many hosts renew their leases at the configured heartbeat. Where there are more, each
// does so less often: all of them together write as much.
const manyHosts = 1000

// listsHosts reports whether this host lists the other hosts now. The host that reports to people
// always does; of many others a random part does.
func (f *Fleet) listsHosts() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notifier.rev != 0 || len(f.hosts) <= manyHosts || f.opts.Rand()*float64(len(f.hosts)) <= manyHosts
}

// patience is how far away the next heartbeat may be. After a question without an answer, a write is
// tried soon.
func (f *Fleet) patience() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing {
		return f.pace.heartbeat
	}
	return f.host.lasts / renewals
}

// interval is how often this host renews its lease, with as many hosts as were last seen.
func (f *Fleet) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pace.heartbeat * time.Duration(max(len(f.hosts), manyHosts)) / manyHosts
}
