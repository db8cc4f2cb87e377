package app

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/metrics"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// crew is this daemon's place in a fleet, if the configuration names one. Without one its
// gate is open, and no byte is sent.
type crew struct {
	opts     Options
	settings *inForce
	engine   *resume.Engine
	notifier *notify.Notifier
	order    func(ctx context.Context, from, session string, order control.Order) (resume.View, error) // of another host
	metrics  *metrics.Metrics
	changes  *control.Changes

	nudged chan struct{} // the configuration may be another one
	member atomic.Pointer[member]
	joined atomic.Bool            // it is as the configuration says
	lacks  atomic.Pointer[string] // why there is none, where there should be
	alone  stopwatch
}

// member is a place in one fleet.
type member struct {
	config config.Fleet
	host   string
	key    []byte
	store  *natskv.Store
	fleet  *fleet.Fleet
	view   *viewer
	told   toldByHosts

	identities fleet.Identities

	mu    sync.Mutex        // guards names
	names map[string]string // what this host calls an account
}

func newCrew(opts Options, settings *inForce, changes *control.Changes) *crew {
	return &crew{opts: opts, settings: settings, changes: changes, nudged: make(chan struct{}, 1)}
}

// gate is the engine's.
func (c *crew) gate(s resume.Session, now time.Time) (string, time.Time) {
	switch m := c.member.Load(); {
	case m != nil:
		if _, known := m.identities.Of(s); !known {
			return "due, but it is not known yet which account it uses: the files that say so are read", now.Add(fleet.IdentifyWithin)
		}
		return m.fleet.Ask(s, now)
	case !c.joined.Load() && c.settings.Load().config.Fleet.URL != "" && !c.opts.DryRun:
		return "due, but this host is still joining its fleet", now.Add(time.Second)
	default:
		return "", time.Time{}
	}
}

// changed is told every step, and blocks on nothing.
func (c *crew) changed(change resume.Change) {
	if m := c.member.Load(); m != nil {
		m.fleet.Changed(change)
		m.view.note()
	}
}

// want says that the configuration may name another fleet, or none.
func (c *crew) want() {
	select {
	case c.nudged <- struct{}{}:
	default:
	}
}

// Run is in the fleet that the configuration names, until ctx is done.
func (c *crew) Run(ctx context.Context) error {
	c.want()
	leave := func() {}
	defer func() { leave() }()
	var in config.Fleet
	var again <-chan time.Time // when a fleet is to be joined that could not be
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.nudged:
		case <-again:
		}
		again = nil
		now := c.settings.Load().config.Fleet
		if now == in && c.lacks.Load() == nil {
			if m := c.member.Load(); m != nil {
				m.identities.Renew()
			}
			continue
		}
		c.joined.Store(false)
		leave()
		leave, in = func() {}, now
		c.alone.run(false)
		c.lacks.Store(nil)
		if now.URL != "" && !c.opts.DryRun {
			c.metrics.ExpectFleet()
			left, err := c.join(ctx, now)
			if err != nil {
				if err.Error() != said {
					c.opts.Log.Error("this host is not in its fleet", "err", err)
				}
				c.lacks.Store(new("this host is not in its fleet: " + err.Error() + " (joining is tried again each minute)"))
				c.alone.run(true)
				again, said = time.After(joinAgain), err.Error()
			} else {
				leave, said = left, ""
			}
		}
		c.joined.Store(true)
		c.changes.NoteAll()
		_ = c.engine.Stir(ctx) // a gate that is open now held some back
	}
}

// joinAgain is how long after it could not be joined a fleet is tried again: the file that was missing may be there.
const joinAgain = time.Minute

// join takes this host's place in a fleet, and returns how it is left.
func (c *crew) join(ctx context.Context, cfg config.Fleet) (leave func(), err error) {
	credentials, err := readKeys(ctx, cfg)
	if err != nil {
		return nil, err
	}
	m := &member{config: cfg, host: HostName(cfg), key: credentials.Key, names: make(map[string]string)}
	log := c.opts.Log.With("fleet", cfg.URL, "host", m.host)
	m.store, err = natskv.Open(natskv.Options{
		URL: cfg.URL, Credentials: credentials, CAFile: cfg.CAFile, Host: m.host, Log: log, Within: 2 * cfg.Heartbeat,
		Refused: func(err error) { log.Warn("the fleet's server refuses something", "err", err) },
		Changed: func(bool) { c.changes.NoteAll() },
	})
	if err != nil {
		return nil, err
	}
	sessions, err := c.engine.Kept(ctx)
	if err != nil {
		m.store.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m.identities.Find = func(s resume.Session) string { return m.identify(c.settings.Load(), s) }
	m.identities.Found = func() { c.identified(ctx, m) }
	m.identities.Slow = func(account resume.AccountKey) {
		log.Warn("the files that say which account sessions use do not answer: these sessions wait for no other host", "account", account.String())
	}
	m.fleet = fleet.New(fleet.Options{
		Store: m.store, Host: m.host, Life: uuid.NewString(), Version: c.opts.Version, Heartbeat: cfg.Heartbeat, Rand: rand.Float64,
		Rules: func() fleet.Rules {
			r := c.settings.Load().config.Resume
			return fleet.Rules{Margin: r.Margin, Stagger: r.Stagger, MaxWait: r.MaxWait}
		},
		Account: m.account,
		Stir:    func(ctx context.Context) { _ = c.engine.Stir(ctx) }, // it stops
		Said:    func(s fleet.Standing) { c.say(log, s) },
		Counted: c.count, Waiting: c.waiting, Shows: func() map[string]int { return *m.view.counts.Load() },
		Deliver: func(ctx context.Context, n fleet.Notice) error { return c.accept(ctx, m, n) }, Tells: c.notifier.Tells, HostGone: m.goneNotice,
	})
	m.view = newViewer(m, c.engine, c.settings)
	m.fleet.Restore(sessions)
	var parts sync.WaitGroup
	parts.Go(func() { _ = m.fleet.Run(ctx) })
	parts.Go(func() { m.view.run(ctx) })
	parts.Go(func() { _ = m.store.Orders(ctx, c.obey) }) // it ends with ctx
	c.member.Store(m)
	log.Info("in a fleet")
	return func() {
		c.member.Store(nil)
		cancel()
		parts.Wait()
		m.store.Close()
		log.Info("left the fleet")
	}, nil
}

func (c *crew) say(log *slog.Logger, s fleet.Standing) {
	c.alone.run(s.Alone)
	if s.Alone {
		log.Warn("alone: this host goes by what it knows itself until the fleet answers", "why", s.Why)
	} else {
		log.Info("with the fleet again", "hosts", s.Hosts)
	}
	c.changes.NoteAll()
}

// How a daemon stands in its fleet.
const (
	fleetConnected = "connected"
	fleetAlone     = "alone"
)

// standing returns how this daemon stands; nil: it is in no fleet.
func (c *crew) standing() *control.DaemonFleet {
	cfg := c.settings.Load().config.Fleet
	m := c.member.Load()
	switch {
	case cfg.URL == "" || c.opts.DryRun:
		return nil
	case m == nil:
		return &control.DaemonFleet{State: fleetAlone, Why: c.problem(), URL: cfg.URL, Name: HostName(cfg), Hosts: 1, Since: time.Now().UTC()}
	}
	s := m.fleet.Standing()
	shown := &control.DaemonFleet{State: fleetConnected, URL: m.config.URL, Name: m.host, Hosts: s.Hosts, Since: s.Since.UTC()}
	if s.Alone || !m.store.Connected() {
		shown.State, shown.Why = fleetAlone, s.Why
		switch err := m.store.LastError(); {
		case errors.Is(err, natskv.ErrUnknownHost):
			shown.Why = "the hub does not know this machine: run a line here that `resumed hub invite` prints there"
		case shown.Why == "" && err != nil:
			shown.Why = err.Error()
		}
	}
	return shown
}

// problem returns what stands in the way, or "".
func (c *crew) problem() string {
	if why := c.lacks.Load(); why != nil {
		return *why
	}
	return ""
}

// readKeys reads what this host joins its fleet with. It does not wait for a file system that does not
// answer: until a host has joined, its sessions wait.
func readKeys(ctx context.Context, cfg config.Fleet) (natskv.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, fleet.IdentifyWithin)
	defer cancel()
	var credentials natskv.Credentials
	read := make(chan error, 1)
	go func() {
		found, err := natskv.ReadCredentials(cfg.CredentialsFile)
		if cfg.CAFile != "" {
			_, _ = os.ReadFile(cfg.CAFile) // it answers, too; what is wrong with it is said when it is used
		}
		credentials = found
		read <- err
	}()
	select {
	case err := <-read:
		return credentials, err
	case <-ctx.Done():
		return natskv.Credentials{}, fmt.Errorf("read credentials: %s or ca_file does not answer", cfg.CredentialsFile)
	}
}

// identified has all that depends on the accounts of sessions looked at again.
func (c *crew) identified(ctx context.Context, m *member) {
	if sessions, err := c.engine.Kept(ctx); err == nil { // else it stops
		m.fleet.Restore(sessions)
	}
	m.view.note()
	_ = c.engine.Stir(ctx) // it stops
}

// account returns the key of a session's account among those of the fleet; empty: it is not known
// whose allowance it uses, and it waits for nobody.
func (m *member) account(s resume.Session) string {
	key, _ := m.identities.Of(s)
	return key
}

// identify looks up the key of a session's account in the files of its agent.
func (m *member) identify(now *settings, s resume.Session) string {
	who := whose(now, s)
	if who == "" {
		return ""
	}
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(who))
	key := hex.EncodeToString(mac.Sum(nil)[:16]) + "." + cmp.Or(unfit.ReplaceAllString(s.Provider, "_"), "-")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[key] = s.AccountKey().String()
	return key
}

// unfit is what cannot stand in a key.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// whose returns what is the same wherever the account of a session is used.
func whose(now *settings, s resume.Session) string {
	cfg := now.config.Agent(s.Key.Agent)
	if cfg.Account != "" {
		return "named " + cfg.Account
	}
	a, ok := now.agents[s.Key.Agent].(agent.Identified)
	if !ok {
		return ""
	}
	env, err := cfg.Environment(now.config.Resume.Trust())
	if err != nil {
		return ""
	}
	who := a.Identity(s, append(os.Environ(), env...))
	if who == "" {
		return ""
	}
	return s.Key.Agent + " " + who
}

// HostName returns what this host is called in its fleet.
func HostName(cfg config.Fleet) string {
	if cfg.Name != "" {
		return cfg.Name
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	name, _, _ = strings.Cut(name, ".")
	return cmp.Or(strings.Trim(unfit.ReplaceAllString(name, "-"), "-_"), "unknown")
}

// errNoAccount says that no account of the fleet is called so.
func errNoAccount(name string) error {
	return fmt.Errorf("no account of the fleet is called %q, or several are: resumed status --fleet lists them", name)
}

var errAlone = errors.New("the fleet does not answer")
