package member

import (
	"cmp"
	"context"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"resumed/internal/config"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

type membership struct {
	opts    Options
	log     *slog.Logger
	config  config.Fleet
	host    string
	key     []byte
	store   *natskv.Store
	fleet   *fleet.Fleet
	view    *viewer
	senders senders

	identities fleet.Identities

	mu    sync.Mutex        // guards names
	names map[string]string // of accounts on this host, by their keys
}

func (c *Client) join(ctx context.Context, cfg config.Fleet) (m *membership, leave func(), err error) {
	leave = func() {}
	credentials, err := readKeys(ctx, cfg)
	if err != nil {
		return nil, leave, err
	}
	m = &membership{opts: c.opts, config: cfg, host: HostName(cfg), key: credentials.Key, names: make(map[string]string)}
	m.log = c.opts.Log.With("fleet", cfg.URL, "host", m.host)
	m.store, err = natskv.Open(natskv.Options{
		URL: cfg.URL, Credentials: credentials, CAFile: cfg.CAFile, Host: m.host, Log: m.log, Within: 2 * cfg.Heartbeat,
		Refused: func(err error) { m.log.Warn("the fleet's server refuses something", "err", err) },
		Changed: c.opts.Changed,
	})
	if err != nil {
		return nil, leave, err
	}
	sessions, err := c.opts.Engine.Stored(ctx)
	if err != nil {
		m.store.Close()
		return nil, leave, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m.identities.Find = m.identify
	m.identities.Found = func() { m.identified(ctx) }
	m.identities.Slow = func(account resume.AccountKey) {
		m.log.Warn("the files that say which account sessions use do not answer: these sessions wait for no other host", "account", account.String())
	}
	m.view = newViewer(m)
	m.fleet = fleet.New(fleet.Options{
		Store: m.store, Host: m.host, Life: crand.Text(), Version: c.opts.Version, Heartbeat: cfg.Heartbeat, Rand: rand.Float64,
		Rules: func() fleet.Rules {
			r := c.opts.Settings().Resume
			return fleet.Rules{Margin: r.Margin, Stagger: r.Stagger, MaxWait: r.MaxWait}
		},
		Account: m.account,
		Stir:    m.stir,
		Changed: func(s fleet.Status) { c.standingChanged(m, s) },
		Metrics: c.opts.Metrics, Waiting: m.waiting, Shows: m.view.shows,
		Deliver: m.accept, Tells: c.opts.Notifier.CanReport, HostGone: m.goneNotice, Same: m.tellsTheSame,
		TellsGone: func() bool { return c.opts.Notifier.Wants(notify.HostGone) },
	})
	m.fleet.Restore(sessions)
	var parts sync.WaitGroup
	parts.Go(func() { _ = m.fleet.Run(ctx) })
	parts.Go(func() { m.view.run(ctx) })
	parts.Go(func() { _ = m.store.Orders(ctx, m.answerOrder) }) // it ends with ctx
	m.log.Info("in a fleet")
	return m, func() {
		cancel()
		parts.Wait()
		m.store.Close()
		m.log.Info("left the fleet")
	}, nil
}

// readKeys reads the credentials of this host. It does not wait forever for a file system that does not
// answer: until a host has joined, its sessions wait.
func readKeys(ctx context.Context, cfg config.Fleet) (natskv.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, fleet.IdentifyWithin)
	defer cancel()
	var credentials natskv.Credentials
	read := make(chan error, 1)
	go func() {
		found, err := natskv.ReadCredentials(cfg.CredentialsFile)
		if cfg.CAFile != "" {
			_, _ = os.ReadFile(cfg.CAFile) // only whether it answers: natskv.Open reports other errors
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

func (c *Client) standingChanged(m *membership, s fleet.Status) {
	c.alone.run(s.Alone)
	if s.Alone {
		m.log.Warn("alone: this host goes by what it knows itself until the fleet answers", "why", s.Why)
	} else {
		m.log.Info("with the fleet again", "hosts", s.Hosts)
	}
	c.opts.Changed()
}

// stir makes the engine ask the gate again. An engine that stops has nothing to ask.
func (m *membership) stir(ctx context.Context) { _ = m.opts.Engine.RecheckGate(ctx) }

// identified is called when the account of some sessions has become known, or has changed.
func (m *membership) identified(ctx context.Context) {
	if sessions, err := m.opts.Engine.Stored(ctx); err == nil { // otherwise the engine stops
		m.fleet.Restore(sessions)
	}
	m.view.noted.Send()
	m.stir(ctx)
}

// account returns the key of a session's account in the fleet; "": the account is not known, and
// the session waits for no other host.
func (m *membership) account(s resume.Session) string {
	key, _ := m.identities.Of(s)
	return key
}

func (m *membership) identify(s resume.Session) string {
	identity := identityOf(m.opts.Settings(), s)
	if identity == "" {
		return ""
	}
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(identity))
	key := hex.EncodeToString(mac.Sum(nil)[:16]) + "." + cmp.Or(notInKeys().ReplaceAllString(s.Provider, "_"), "-")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[key] = s.AccountKey().String()
	return key
}

type identifier interface {
	Identity(s resume.Session, environ []string) string
}

// identityOf returns a text that is the same on all hosts that use the session's account; "": not
// known.
func identityOf(now Settings, s resume.Session) string {
	cfg := now.Agent(s.Key.Agent)
	if cfg.Account != "" {
		return "named " + cfg.Account
	}
	a, ok := now.Agents[s.Key.Agent].(identifier)
	if !ok {
		return ""
	}
	env, err := cfg.Environment(now.Resume.Trust())
	if err != nil {
		return ""
	}
	identity := a.Identity(s, append(os.Environ(), env...))
	if identity == "" {
		return ""
	}
	return s.Key.Agent + " " + identity
}

const engineTimeout = 10 * time.Second

func (m *membership) waiting() (n int) {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	tallies, _ := m.opts.Engine.Tallies(ctx) // an engine that stops returns nothing
	for _, t := range tallies {
		n += t[resume.Waiting]
	}
	return n
}
