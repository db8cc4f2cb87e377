package fleet

import "time"

// Heartbeat is how often a host says that it is there, where nothing else is wanted.
const Heartbeat = 15 * time.Second

// LeaseTTL is how long a lease lasts then. It is renewed before: of three renewals two may be lost.
const (
	LeaseTTL = renewals * Heartbeat
	renewals = 3
)

// pace is how fast a host is, all of it by its heartbeat: no leave may be good for longer than
// the lease behind it.
type pace struct{ heartbeat time.Duration }

// lease is how long a lease lasts that is renewed with every heartbeat.
func (p pace) lease() time.Duration { return renewals * p.heartbeat }

// silence is how long the store may not answer until this host goes on alone.
func (p pace) silence() time.Duration { return 2 * p.heartbeat }

// again is when what came to nothing is tried again.
func (p pace) again() time.Duration { return p.heartbeat / 3 }

// slotFor is how long leave to start is good for where an account is closed: no lease is behind it.
const slotFor = 10 * time.Second

// goodFor is how long leave to try is good for, and how long ago a lease may have been
// confirmed where something is done that only its holder may do.
func (p pace) goodFor() time.Duration { return min(10*time.Second, p.heartbeat*2/3) }

// manyHosts is how many hosts say that they are there at the heartbeat that is wanted.
// Where there are more, each does so less often: all of them together write as much.
const manyHosts = 1000

// looksAround reports whether this host asks now who is there. Who tells people of hosts that are
// gone does so always; of many others some do, by chance.
func (f *Fleet) looksAround() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notifier.rev != 0 || len(f.hosts) <= manyHosts || f.opts.Rand()*float64(len(f.hosts)) <= manyHosts
}

// patience is how far away the next heartbeat may be. Where a question was not answered, it soon is
// tried whether a write is.
func (f *Fleet) patience() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing {
		return f.pace.heartbeat
	}
	return f.host.lasts / renewals
}

// interval is how often this host says that it is there, among as many as were last seen.
func (f *Fleet) interval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pace.heartbeat * time.Duration(max(len(f.hosts), manyHosts)) / manyHosts
}
