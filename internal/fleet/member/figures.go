package member

import (
	"sync"
	"time"
)

// Figures are the metrics of this host in its fleet.
type Figures struct {
	Connected bool
	Hosts     int
	Alone     time.Duration // in total, since the daemon started
	Skew      time.Duration // by which the fleet's clock is ahead
}

// Figures returns the figures of this host, and false if it is in no fleet.
func (c *Client) Figures() (Figures, bool) {
	s := c.Standing()
	if s == nil {
		return Figures{}, false
	}
	f := Figures{Connected: s.State == connected, Hosts: s.Hosts, Alone: c.alone.elapsed()}
	if m := c.current(); m != nil {
		f.Skew = m.fleet.Standing().Skew
	}
	return f, true
}

// stopwatch measures the total time that something is true.
type stopwatch struct {
	mu    sync.Mutex // guards what follows
	since time.Time  // zero: it is not true now
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
