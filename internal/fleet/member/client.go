// Package member makes this machine a member of the fleet in the configuration. Without a fleet its
// gate is open, and nothing is sent.
package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/lazy"
	"resumed/internal/notify"
	"resumed/internal/plain"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/wake"
)

// Options are what a Client needs from the daemon.
type Options struct {
	Version  string
	DryRun   bool // no fleet is joined
	Log      *slog.Logger
	Settings func() Settings // the current ones
	Engine   Engine
	Notifier Notifier
	Metrics  Metrics

	View    func(resume.Session) view.Session
	Network func(path string) string                                                                    // the shared file system that a file is on; "": none
	Order   func(ctx context.Context, from, session string, order control.Action) (view.Session, error) // carries out an order of another host
	Changed func()                                                                                      // the state of this host in the fleet has changed
}

// Settings are the parts of the configuration that matter to a fleet.
type Settings struct {
	config.Config
	Agents map[string]agent.Agent
}

// Engine has the sessions of this host.
type Engine interface {
	Stored(ctx context.Context) ([]*resume.Session, error)
	Tallies(ctx context.Context) (map[string]resume.Tally, error)
	RecheckGate(ctx context.Context) error
}

// Notifier reports to people.
type Notifier interface {
	Accept(ctx context.Context, notice notify.Notice) error
	CanReport() bool
	Wants(event notify.Event) bool
}

// Metrics counts what happens in the fleet.
type Metrics interface {
	fleet.Metrics
	ExpectFleet()
}

// Client is this host as a member of a fleet, if the configuration names one.
type Client struct {
	opts     Options
	reloaded wake.Signal // the configuration may have changed
	state    atomic.Pointer[state]
	alone    stopwatch
}

// state is the state of this host in the fleet of the configuration. It is never changed.
type state struct {
	*membership       // nil: this host is in no fleet
	joinErr     error // why not, if there should be one
	joining     bool  // or the client has not started
}

// New returns a client that has not joined yet.
func New(opts Options) *Client {
	c := &Client{opts: opts, reloaded: wake.NewSignal()}
	c.state.Store(&state{joining: true})
	return c
}

func (c *Client) current() *membership { return c.state.Load().membership }

// Gate implements engine.Gate.
func (c *Client) Gate(s resume.Session, now time.Time) (string, time.Time) {
	if m := c.current(); m != nil {
		if _, known := m.identities.Of(s); !known {
			return "it is not known yet which account it uses: the files that say so are read", now.Add(fleet.IdentifyWithin)
		}
		return m.fleet.Ask(s, now)
	}
	if c.state.Load().joining && c.wantsFleet() {
		return "this host is still joining its fleet", now.Add(time.Second)
	}
	return "", time.Time{}
}

func (c *Client) wantsFleet() bool { return c.opts.Settings().Fleet.URL != "" && !c.opts.DryRun }

// SessionChanged is called for every change of every session. It does not block.
func (c *Client) SessionChanged(change resume.Change) {
	if m := c.current(); m != nil {
		m.fleet.Changed(change)
		m.view.noted.Send()
	}
}

// Reload is called when the configuration may name another fleet, or none.
func (c *Client) Reload() { c.reloaded.Send() }

// joinRetry is when joining is tried again after it failed: a missing file may exist then.
const joinRetry = time.Minute

// Run is a member of the configured fleet, until ctx is done.
func (c *Client) Run(ctx context.Context) error {
	c.Reload()
	leave := func() {}
	defer func() {
		c.state.Store(&state{joining: true})
		leave()
	}()
	var in config.Fleet
	var retry <-chan time.Time
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.reloaded:
		case <-retry:
		}
		retry = nil
		wanted := c.opts.Settings().Fleet
		if wanted == in && c.state.Load().joinErr == nil {
			if m := c.current(); m != nil {
				m.identities.Renew()
			}
			continue
		}
		c.state.Store(&state{joining: true})
		leave()
		leave, in = func() {}, wanted
		joined := &state{}
		if c.wantsFleet() {
			c.opts.Metrics.ExpectFleet()
			joined.membership, leave, joined.joinErr = c.join(ctx, wanted)
		}
		c.alone.run(joined.joinErr != nil)
		if err := joined.joinErr; err != nil {
			if err.Error() != logged {
				c.opts.Log.Error("this host is not in its fleet", "err", err)
			}
			retry, logged = time.After(joinRetry), err.Error()
		} else {
			logged = ""
		}
		c.state.Store(joined)
		c.opts.Changed()
		_ = c.opts.Engine.RecheckGate(ctx) // sessions may be held back by a gate that is open now
	}
}

// Problem returns why this host is not in its fleet, or "".
func (c *Client) Problem() string {
	if err := c.state.Load().joinErr; err != nil {
		return "this host is not in its fleet: " + plain.Text(err) + " (joining is tried again each minute)"
	}
	return ""
}

// The states of a daemon in its fleet.
const (
	connected = "connected"
	alone     = "alone"
)

// Standing returns the state of this daemon in its fleet; nil: it is in none.
func (c *Client) Standing() *control.DaemonFleet {
	if !c.wantsFleet() {
		return nil
	}
	m := c.current()
	if m == nil {
		cfg := c.opts.Settings().Fleet
		return &control.DaemonFleet{State: alone, Why: c.Problem(), URL: cfg.URL, Name: HostName(cfg), Hosts: 1, Since: time.Now().UTC()}
	}
	s := m.fleet.Standing()
	shown := &control.DaemonFleet{State: connected, URL: m.config.URL, Name: m.host, Hosts: s.Hosts, Since: s.Since.UTC()}
	if s.Alone || !m.store.Connected() {
		shown.State, shown.Why = alone, s.Why
		switch err := m.store.LastError(); {
		case errors.Is(err, natskv.ErrUnknownHost):
			shown.Why = "the hub does not know this machine: run a line here that `resumed hub invite` prints there"
		case shown.Why == "" && err != nil:
			shown.Why = err.Error()
		}
	}
	return shown
}

var notInKeys = lazy.Regexp(`[^A-Za-z0-9_-]`)

// HostName returns the name of this host in its fleet.
func HostName(cfg config.Fleet) string {
	if cfg.Name != "" {
		return cfg.Name
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	name, _, _ = strings.Cut(name, ".")
	return cmp.Or(strings.Trim(notInKeys().ReplaceAllString(name, "-"), "-_"), "unknown")
}

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
	c.alone.mu.Lock()
	f := Figures{Connected: s.State == connected, Hosts: s.Hosts, Alone: c.alone.elapsed()}
	c.alone.mu.Unlock()
	if m := c.current(); m != nil {
		f.Skew = m.fleet.Standing().Skew
	}
	return f, true
}

type stopwatch struct {
	mu    sync.Mutex // guards what follows
	since time.Time  // zero: it is not true now
	total time.Duration
}

func (s *stopwatch) run(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total, s.since = s.elapsed(), time.Time{}
	if on {
		s.since = time.Now()
	}
}

// elapsed returns the total so far. The caller holds s.mu.
func (s *stopwatch) elapsed() time.Duration {
	if s.since.IsZero() {
		return s.total
	}
	return s.total + time.Since(s.since)
}

// Hold takes the lease of a session on a file system that other machines write to as well.
func (c *Client) Hold(ctx context.Context, s resume.Session) (*fleet.Hold, *resume.NotSent) {
	m := c.current()
	if m == nil && c.opts.Settings().Fleet.URL == "" || c.opts.Network(s.Transcript) == "" {
		return nil, nil
	}
	if m == nil {
		problem := c.Problem()
		why := "other machines can see it too, and " + cmp.Or(problem, "this host is still joining its fleet")
		notSent := &resume.NotSent{Why: why}
		if problem != "" {
			notSent.Then = resume.NeedsOrder
		}
		return nil, notSent
	}
	takeOver := m.config.Takeover == config.TakeoverAuto || !s.RetryAskedAt.IsZero()
	held, err := m.fleet.Hold(ctx, shortHash(s.Key.String()), takeOver)
	_, elsewhere := errors.AsType[*fleet.ElsewhereError](err)
	switch gone, _ := errors.AsType[*fleet.GoneError](err); {
	case err == nil:
		return held, nil
	case gone != nil:
		why := fmt.Sprintf("%v; make sure that it does not run there, then `resumed retry %s` continues it here", gone, s.Name)
		return nil, &resume.NotSent{Why: why, Then: resume.Park}
	default:
		notSent := &resume.NotSent{Why: "other machines can see it too: " + err.Error()}
		if elsewhere { // an order of now does not permit to take the session over later, when that host is gone
			notSent.Then = resume.NeedsOrder
		}
		return nil, notSent
	}
}
