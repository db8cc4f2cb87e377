package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
	limits "resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
)

// hostsEnv is how many hosts share a limit, with as many sessions each: `make bench-hub` sets a
// hundred.
const hostsEnv = "HUB_TEST_HOSTS"

// crowd is many hosts with real engines, and a provider with a limit.
type crowd struct {
	t       *testing.T
	reset   time.Time // before that, everything is refused
	stagger time.Duration

	probes, won, lost atomic.Int64

	mu     sync.Mutex // guards starts
	starts []time.Time
}

// counting counts the writes to accounts.
type counting struct {
	*natskv.Store
	crowd *crowd
}

func (c counting) Update(ctx context.Context, b fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	rev, err := c.Store.Update(ctx, b, key, value, rev, lasts)
	c.crowd.wrote(b, err)
	return rev, err
}

func (c *crowd) wrote(b fleet.Bucket, err error) {
	switch {
	case b != fleet.Accounts:
	case err == nil:
		c.won.Add(1)
	case errors.Is(err, fleet.ErrConflict):
		c.lost.Add(1)
	}
}

// Wrote implements fleet.Metrics.
func (c *crowd) Wrote(string)   {}
func (c *crowd) Dropped(string) {}
func (c *crowd) Probed(outcome string) {
	if outcome == "moved" { // on a busy machine a permission to probe may end before it is used
		c.probes.Add(1)
	}
}

// join adds a host that publishes its sessions, and returns a function that makes them be refused.
func (c *crowd) join(ctx context.Context, store *natskv.Store, name string, sessions int) (refuse func()) {
	var f *fleet.Fleet
	var e *engine.Engine
	f = fleet.New(fleet.Options{
		Store: counting{store, c}, Host: name, Life: name + "'s", Rand: rand.Float64,
		Rules:   func() fleet.Rules { return fleet.Rules{Stagger: c.stagger, MaxWait: time.Hour} },
		Account: func(resume.Session) string { return "a1.anthropic" },
		Waiting: func() int { return sessions },
		Shows:   func() map[string]int { return nil },
		Tells:   func() bool { return false },
		Changed: func(fleet.Status) {},
		Stir:    func(ctx context.Context) { _ = e.RecheckGate(ctx) },
		Metrics: c,
	})
	var marks atomic.Int64
	e = engine.New(engine.Options{
		Rules: resume.Rules{
			Backoff: backoff.Policy{Strategy: backoff.Fixed, BaseDelay: 30 * time.Second, MaxRetries: 50}, Settle: time.Minute,
			MaxConcurrent: sessions, Stagger: c.stagger, Lookback: time.Hour,
		},
		Act:     func(ctx context.Context, s resume.Session) { c.act(ctx, e, s) },
		Changed: f.Changed, Gate: f.Ask, Rand: rand.Float64,
		Mark: func() string { return fmt.Sprint(name, marks.Add(1)) },
	})
	go func() { _ = e.Run(ctx) }()
	go func() { _ = f.Run(ctx) }()
	shown := []byte(strings.Repeat("x", 1000)) // about as long as what others are shown of a session
	for i := range sessions {
		_, err := store.Update(ctx, fleet.View, name+".bot."+strconv.Itoa(i), shown, 0, 0)
		require.NoError(c.t, err)
	}
	return func() {
		for i := range sessions {
			c.see(ctx, e, fmt.Sprint(name, ".", i), resume.Limited{At: time.Now(), Verdict: limits.Verdict{
				Class: limits.RateLimit, WaitHelps: true, Reset: limits.Reset{At: c.reset, Source: limits.Structured},
			}})
		}
	}
}

func (c *crowd) see(ctx context.Context, e *engine.Engine, id string, ev resume.Event) {
	_ = e.Observe(ctx, []resume.Observation{{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Cwd: "/src/" + id, Transcript: "/t/" + id,
		Pos: resume.Position{Epoch: "1", Offset: time.Now().UnixNano()}, Event: ev,
	}})
}

// act is a resume: the session moves, or is refused if the limit is not over.
func (c *crowd) act(ctx context.Context, e *engine.Engine, s resume.Session) {
	c.mu.Lock()
	c.starts = append(c.starts, time.Now())
	c.mu.Unlock()
	time.Sleep(c.stagger / 2)
	if !time.Now().Before(c.reset) {
		c.see(ctx, e, s.Key.ID, resume.Progressed{At: time.Now()})
	}
	_, _ = e.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Delivered})
}

func (c *crowd) started() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.starts)
}

// Many hosts wait for one limit: one of them probes, all sessions start in the end, each once, and
// neither the writes of a step nor the hub's memory grow with the number of waiting sessions.
func TestManyHostsShareALimit(t *testing.T) {
	t.Parallel()
	hosts, err := strconv.Atoi(os.Getenv(hostsEnv))
	if err != nil {
		hosts = 12 // enough to divide the larger steps among them
	}
	sessions := hosts
	dir, invitation := newHub(t)
	server := process(t, seat{Dir: dir})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c := &crowd{t: t, stagger: 250 * time.Millisecond}
	var refusals []func()
	for i := range hosts {
		name := fmt.Sprint("h", i)
		refusals = append(refusals, c.join(ctx, joined(t, invitation, name), name, sessions))
	}
	c.reset = time.Now().Add(3 * time.Second) // once all have joined: a refusal after the limit was found to be over opens it again
	for _, refuse := range refusals {
		refuse()
	}
	late := time.Since(c.reset) // on a busy machine they may be late
	all := hosts * sessions
	require.Eventually(t, func() bool { return c.started() >= all }, 5*limit, 20*time.Millisecond, "all sessions start")
	c.mu.Lock()
	first, last := c.starts[0], c.starts[len(c.starts)-1]
	c.mu.Unlock()
	steps := int(last.Sub(first)/c.stagger) + 1
	rss := resident(t, server.proc.Process.Pid)
	t.Logf("%d hosts of %d sessions: %d started in %s, %d tries, %d steps; writes of the account: %d granted, %d refused, %.1f a step; hub %d MB",
		hosts, sessions, c.started(), last.Sub(first).Round(time.Millisecond), c.probes.Load(), steps,
		c.won.Load(), c.lost.Load(), float64(c.won.Load()+c.lost.Load())/float64(steps), rss>>20)
	require.Equal(t, all, c.started(), "each once")
	require.Less(t, rss, 150<<20, "the hub's memory")
	if late < 0 {
		require.EqualValues(t, 1, c.probes.Load(), "one host finds out")
		require.False(t, first.Before(c.reset), "nothing before the reset")
	}
}

// resident returns how much memory of a process is in use.
func resident(t *testing.T, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Skip("SKIPPED: nothing tells how much memory a process uses here")
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}
