package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
)

// Host is a host of the fleet, as stored.
type Host struct {
	Host    string         `json:"host"`
	Life    string         `json:"life"`
	Version string         `json:"version,omitempty"`
	Waiting int            `json:"waiting"`
	Shows   map[string]int `json:"shows,omitempty"` // sessions of each account, by its key; "": of unknown accounts
	Skew    time.Duration  `json:"skew"`
	Alone   bool           `json:"alone,omitempty"`
	Bye     bool           `json:"bye,omitempty"` // it stops on purpose
	SeenAt  time.Time      `json:"-"`             // by the store's clock

	Unreadable bool `json:"-"` // its record exists, and cannot be read
	rev        uint64
	told       bool // it is missing, and a notice about that was published
}

func (f *Fleet) self() Host {
	standing := f.Standing()
	return Host{
		Host: f.opts.Host, Life: f.opts.Life, Version: f.opts.Version, Skew: standing.Skew, Alone: standing.Alone,
		Waiting: f.opts.Waiting(), Shows: f.opts.Shows(),
	}
}

// readHost returns the host in an entry. If the entry cannot be read, the host still counts.
func readHost(e Entry) Host {
	name := e.Key[len(hostPrefix):]
	var h Host
	if Decode(e.Value, &h) != nil || h.Host != name {
		return Host{Host: name, SeenAt: e.At, Unreadable: true, rev: e.Rev}
	}
	h.SeenAt, h.rev = e.At, e.Rev
	h.Waiting = count(h.Waiting)
	shows := make(map[string]int)
	for account, n := range h.Shows {
		if len(shows) < mostItems && (account == "" || GoodKey(account)) {
			shows[account] = count(n)
		}
	}
	h.Shows = shows
	return h
}

func count(n int) int { return min(max(n, 0), largestCount) }

func (f *Fleet) updateHosts(entries []Entry) {
	goneBefore := f.GoneBefore()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := make(map[string]Host, len(entries))
	for _, e := range entries {
		name := strings.TrimPrefix(e.Key, hostPrefix)
		was, known := f.hosts[name]
		switch {
		case known && was.rev == e.Rev:
			now[name] = was
		case GoodKey(name):
			now[name] = readHost(e)
			delete(f.missing, name)
		}
	}
	for name, h := range f.hosts {
		switch _, there := now[name]; {
		case there || h.Bye || name == f.opts.Host:
		case h.SeenAt.After(goneBefore): // its lease cannot have expired: the store has lost it
			now[name] = h
		case len(h.Shows) > 0 || h.Waiting > 0:
			f.missing[name] = h
		}
	}
	maps.DeleteFunc(f.missing, func(_ string, m Host) bool { return f.now().Sub(m.SeenAt) > ViewTTL })
	f.hosts = now
}

// expiryTakes is how long the store may take to notice that a lease has expired.
const expiryTakes = time.Second

// lookForHosts reads which hosts are there, and reports those that are gone. If the lease of one ends before
// the next heartbeat, it looks again then: people are told within seconds.
func (f *Fleet) lookForHosts(ctx context.Context) error {
	f.nextLook = f.now().Add(f.pace.again())
	entries, err := f.list(ctx, Leases, hostPrefix)
	if err != nil {
		return err
	}
	f.updateHosts(entries)
	soon := f.nextLook
	f.nextLook = time.Time{}
	if f.reportMissing(ctx) {
		f.nextLook = soon
	}
	spread := time.Duration(f.opts.Rand() * float64(min(f.pace.again(), time.Duration(len(f.hosts))*50*time.Millisecond)))
	for _, h := range f.hosts {
		if h.Bye || h.Host == f.opts.Host {
			continue
		}
		ends := f.clock.local(h.SeenAt).Add(renewals*f.interval() + expiryTakes)
		if at := resume.Later(ends.Add(spread), soon); f.nextLook.IsZero() || at.Before(f.nextLook) {
			f.nextLook = at
		}
	}
	return nil
}

// GoneBefore is a lease ago, by the store's clock. A host that has written something since cannot be gone.
func (f *Fleet) GoneBefore() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.fleet(f.now()).Add(-renewals * f.interval())
}

// Hosts returns the hosts that were last seen.
func (f *Fleet) Hosts() []Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.hosts))
}

// Missing returns the hosts that vanished and have sessions which are still shown.
func (f *Fleet) Missing() []Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(f.missing)), func(m Host) bool { return len(m.Shows) == 0 })
}
