package app

import (
	"sync"
	"time"

	"resumed/internal/fleet"
	"resumed/internal/metrics"
)

// figures says how this host stands in its fleet, for metrics; not, where it is in none.
func (c *crew) figures() (metrics.Fleet, bool) {
	s := c.standing()
	if s == nil {
		return metrics.Fleet{}, false
	}
	f := metrics.Fleet{Connected: s.State == fleetConnected, Hosts: s.Hosts, Alone: c.alone.elapsed()}
	if m := c.member.Load(); m != nil {
		f.Skew = m.fleet.Standing().Skew
	}
	return f, true
}

// count counts what happens in the fleet.
func (c *crew) count(n fleet.Count) {
	if n.CAS != "" {
		c.metrics.Wrote(n.CAS)
	}
	if n.Probe != "" {
		c.metrics.Probed(n.Probe)
	}
	if n.Dropped != "" {
		c.metrics.Dropped(n.Dropped)
	}
}

// stopwatch measures how long something is so, all in all.
type stopwatch struct {
	mu    sync.Mutex // guards what follows
	since time.Time  // zero: it is not so now
	total time.Duration
}

func (s *stopwatch) run(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.since.IsZero():
		s.since = time.Now()
	case !on && !s.since.IsZero():
		s.total += time.Since(s.since)
		s.since = time.Time{}
	}
}

func (s *stopwatch) elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.total
	}
	return s.total + time.Since(s.since)
}
