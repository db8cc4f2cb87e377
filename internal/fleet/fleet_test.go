package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/fleet"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
)

// line is a store with a connection that can be cut.
type line struct {
	*fleet.Memory
	cut *atomic.Bool
}

var errSilence = errors.New("nobody answers")

func (l line) Get(ctx context.Context, b fleet.Bucket, key string) (fleet.Entry, error) {
	if l.cut.Load() {
		return fleet.Entry{}, errSilence
	}
	return l.Memory.Get(ctx, b, key)
}

func (l line) Update(ctx context.Context, b fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	if l.cut.Load() {
		return 0, errSilence
	}
	return l.Memory.Update(ctx, b, key, value, rev, lasts)
}

func (l line) Now(ctx context.Context) (time.Time, error) {
	if l.cut.Load() {
		return time.Time{}, errSilence
	}
	return l.Memory.Now(ctx)
}

// house is a fleet of hosts with real engines, and a provider with a limit.
type house struct {
	t     *testing.T
	store line

	stagger time.Duration
	takes   time.Duration // until a resumed session shows a result
	deaf    bool          // hosts that join get no changes

	mu     sync.Mutex // guards everything that follows
	reset  time.Time  // before that, everything is refused
	starts []start
	said   map[string][]bool // the reported standings of hosts: alone?
	told   []string
}

type start struct {
	at   time.Time
	host string
}

func newHouse(t *testing.T) *house {
	return &house{t: t, store: line{fleet.NewMemory(time.Now), new(atomic.Bool)}, stagger: 20 * time.Second, takes: 3 * time.Second, said: make(map[string][]bool)}
}

type host struct {
	*fleet.Fleet
	engine *engine.Engine
}

// join adds a host with some sessions, all of one account, which have just been refused until a reset.
func (h *house) join(ctx context.Context, name string, sessions int) *host {
	joined := new(host)
	var store fleet.Store = h.store
	if h.deaf {
		store = deaf{h.store}
	}
	joined.Fleet = fleet.New(fleet.Filled(fleet.Options{
		Store: store, Host: name, Life: name + "'s", Rand: rand.Float64,
		Rules:   func() fleet.Rules { return fleet.Rules{Stagger: h.stagger, MaxWait: 192 * time.Hour} },
		Account: func(resume.Session) string { return "a1.anthropic" },
		Waiting: func() int { return sessions },
		Stir:    func(ctx context.Context) { _ = joined.engine.RecheckGate(ctx) },
		Changed: func(s fleet.Status) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.said[name] = append(h.said[name], s.Alone)
		},
		Deliver: func(_ context.Context, n fleet.Notice) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.told = append(h.told, string(n.Data)+" by "+name)
			return nil
		},
		HostGone: func(gone fleet.Host) (string, []byte) { return "gone/" + gone.Life, []byte(gone.Host + " is gone") },
	}))

	marks := 0
	joined.engine = engine.New(engine.Options{
		Rules: resume.Rules{
			Backoff: backoff.Policy{Strategy: backoff.Fixed, BaseDelay: 30 * time.Second, MaxRetries: 50}, Settle: time.Minute,
			MaxConcurrent: 50, Stagger: h.stagger, Lookback: time.Hour,
		},
		Act:     func(ctx context.Context, s resume.Session) { h.act(ctx, joined.engine, name, s) },
		Changed: joined.Changed,
		Gate:    joined.Ask,
		Rand:    rand.Float64,
		Mark:    func() string { marks++; return fmt.Sprint(name, marks) },
	})
	go func() { require.NoError(h.t, joined.engine.Run(ctx)) }()
	go func() { require.NoError(h.t, joined.Run(ctx)) }()
	for i := range sessions {
		h.limit(ctx, joined, fmt.Sprint(name, ".", i))
	}
	return joined
}

// limit makes a session be refused.
func (h *house) limit(ctx context.Context, on *host, id string) {
	h.mu.Lock()
	reset := h.reset
	h.mu.Unlock()
	h.see(ctx, on.engine, id, resume.Limited{
		At:      time.Now(),
		Verdict: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: reset, Source: limit.Structured}},
	})
}

func (h *house) see(ctx context.Context, engine *engine.Engine, id string, ev resume.Event) {
	_ = engine.Observe(ctx, []resume.Observation{{
		Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Cwd: "/src/" + id, Transcript: "/t/" + id,
		Pos: resume.Position{Epoch: "1", Offset: time.Now().UnixNano()}, Event: ev,
	}})
}

// act is a resume: after a few seconds the session has moved, or was refused.
func (h *house) act(ctx context.Context, engine *engine.Engine, name string, s resume.Session) {
	h.mu.Lock()
	h.starts = append(h.starts, start{time.Now(), name})
	free := !time.Now().Before(h.reset)
	h.mu.Unlock()
	time.Sleep(h.takes)
	if ctx.Err() != nil {
		return
	}
	if free {
		h.see(ctx, engine, s.Key.ID, resume.Progressed{At: time.Now()})
	}
	_, _ = engine.Apply(ctx, s.Key, resume.Ended{Mark: s.Run.Mark, Outcome: resume.Delivered})
}

// inSteps returns how many sessions started in each stagger after the first start.
func (h *house) inSteps() (steps []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.starts {
		n := int(s.at.Sub(h.starts[0].at) / h.stagger)
		for len(steps) <= n {
			steps = append(steps, 0)
		}
		steps[n]++
	}
	return steps
}

func TestHostsThatShareALimitProbeOnceAndStartInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		h.reset = time.Now().Add(10 * time.Minute)
		for i := range 12 {
			h.join(ctx, fmt.Sprint("h", i), 4)
		}
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		require.Empty(t, h.inSteps())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, []int{1}, h.inSteps(), "one of 48 tries")
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		steps := h.inSteps()
		sum, most := 0, 2 // the probe, and the first one after it
		for _, n := range steps {
			sum += n
			require.LessOrEqual(t, sum, most, "%v", steps)
			most = 2*most + 1
		}
		require.Equal(t, 48, sum)
		require.Less(t, len(steps), 20, "not one after the other: %v", steps)
		stop()
		synctest.Wait()
	})
}

func TestHostsGoOnAloneAndMeetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		h.reset = time.Now().Add(10 * time.Minute)
		hosts := []*host{h.join(ctx, "a", 2), h.join(ctx, "b", 2), h.join(ctx, "c", 2)}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, one := range hosts {
			require.Equal(t, 3, one.Standing().Hosts)
			require.False(t, one.Standing().Alone)
		}
		h.store.cut.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, one := range hosts {
			require.True(t, one.Standing().Alone)
		}
		time.Sleep(7*time.Minute - time.Second)
		synctest.Wait()
		require.Empty(t, h.inSteps(), "the last known reset is honoured")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		sum := 0
		for _, n := range h.inSteps() {
			sum += n
		}
		require.Equal(t, 6, sum)
		h.store.cut.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, one := range hosts {
			require.False(t, one.Standing().Alone)
			require.Equal(t, resume.Closed, one.Known()["a1.anthropic"].State, "they know that it is over")
		}
		require.Equal(t, map[string][]bool{"a": {true, false}, "b": {true, false}, "c": {true, false}}, h.said, "it is said once")
		stop()
		synctest.Wait()
	})
}

func TestAHostThatIsGoneIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		h.reset = time.Now().Add(10 * time.Minute)
		a := h.join(ctx, "a", 1)
		time.Sleep(time.Second) // it is the host that reports to people
		synctest.Wait()
		b := h.join(ctx, "b", 1)
		leaving, leave := context.WithCancel(ctx)
		h.join(leaving, "polite", 1)
		_, err := h.store.Memory.Update(ctx, fleet.Leases, fleet.HostKey("c"), []byte(`{"host":"c","life":"c1","waiting":2}`), 0, fleet.LeaseTTL)
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		leave()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, h.told, 1)
		require.Contains(t, h.told[0], "c is gone by ")
		require.True(t, a.PublishNotice(ctx, "x", []byte("limited")) && b.PublishNotice(ctx, "x", []byte("limited")))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{h.told[0], "limited by a"}, h.told, "one host tells, once")
		stop()
		synctest.Wait()
	})
}

func TestAPersonMayForgetALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		h.reset = time.Now().Add(time.Hour)
		a := h.join(ctx, "a", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, resume.Open, a.Known()["a1.anthropic"].State)
		require.Equal(t, "a", a.Known()["a1.anthropic"].By)
		require.NoError(t, a.Forget(ctx, "a1.anthropic"))
		require.Equal(t, resume.Closed, a.Known()["a1.anthropic"].State)
		stop()
		synctest.Wait()
	})
}

// A server that is cut off from the others answers reads, and refuses writes.
func TestAHostWhoseWritesNobodyAnswersIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := newHouse(t)
		minority := reads{h.store}
		f := fleet.New(fleet.Filled(fleet.Options{
			Store: minority, Host: "a", Life: "1", Rand: rand.Float64, Rules: func() fleet.Rules { return fleet.Rules{} },
			Account: func(resume.Session) string { return "" }, Stir: func(context.Context) {},
		}))

		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		time.Sleep(time.Minute)
		require.False(t, f.Standing().Alone)
		h.store.cut.Store(true)
		time.Sleep(50 * time.Second)
		require.True(t, f.Standing().Alone)
		h.store.cut.Store(false)
		time.Sleep(20 * time.Second)
		require.False(t, f.Standing().Alone)
		stop()
		require.NoError(t, <-ended)
	})
}

// reads is a store that answers reads, whatever happens to writes.
type reads struct{ line }

func (r reads) Get(ctx context.Context, b fleet.Bucket, key string) (fleet.Entry, error) {
	return r.Memory.Get(ctx, b, key)
}

func (r reads) Now(ctx context.Context) (time.Time, error) { return r.Memory.Now(ctx) }
