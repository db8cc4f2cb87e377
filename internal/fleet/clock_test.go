package fleet

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func aheadBy(store Store, d time.Duration) *Fleet {
	return New(Filled(Options{
		Store: store, Host: "a", Life: "1", Rules: func() Rules { return rules }, Account: func(resume.Session) string { return "x" },
		Stir: func(context.Context) {}, Now: func() time.Time { return time.Now().Add(d) }, Rand: func() float64 { return 0.5 },
	}))
}

func TestFleetTimeIsTheStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(NewMemory(time.Now), 4*time.Minute)
		reset := time.Now().Add(time.Hour)
		f.Restore([]*resume.Session{
			{State: resume.Waiting, LimitedAt: time.Now().Add(4 * time.Minute), Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: reset}}}},
		})
		require.WithinDuration(t, time.Now().Add(4*time.Minute), f.Known()["x"].LimitedAt, 0, "nobody has told it the time")
		require.NoError(t, f.measure(t.Context()))
		require.WithinDuration(t, time.Now(), f.Known()["x"].LimitedAt, 0)
		require.Equal(t, reset, f.Known()["x"].Reset, "what a provider states is by nobody's clock")
		require.Equal(t, -4*time.Minute, f.Standing().Skew)
		require.False(t, f.Standing().Alone)
		why, until := f.Ask(resume.Session{Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.UsageLimit}}}, f.now())
		require.Contains(t, why, "as host a was told")
		require.Equal(t, reset.Add(rules.Margin+4*time.Minute).Round(0), until, "by this host's clock")
	})
}

func TestAClockThatIsTooFarOffLeavesItsHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(NewMemory(time.Now), -6*time.Minute)
		require.False(t, f.Standing().Alone)
		f.tick(t.Context())
		require.True(t, f.Standing().Alone)
		require.Contains(t, f.Standing().Why, "clock")
	})
}

func TestAnOldAnswerIsNoNews(t *testing.T) {
	f := aheadBy(NewMemory(time.Now), 0)
	require.True(t, f.remember("x", stored{opened(), 5}))
	require.False(t, f.remember("x", stored{Account{State: resume.Closed}, 4}))
	require.Equal(t, resume.Open, f.Known()["x"].State)
	require.True(t, f.remember("x", stored{Account{State: resume.Closed}, 6}))
}

func TestAProbeThatOthersWentOnWithoutIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := NewMemory(time.Now)
		f := aheadBy(store, 0)
		s := resume.Session{
			Key: resume.Key{Agent: "bot", ID: "s"}, State: resume.Waiting, LimitedAt: time.Now().Add(-time.Hour),
			Interruption: resume.Interruption{
				Limit: limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: time.Now().Add(-30 * time.Minute)}},
			},
		}
		f.Restore([]*resume.Session{&s})
		why, _ := f.Ask(s, f.now())
		require.NotEmpty(t, why)
		f.tick(t.Context())
		why, _ = f.Ask(s, f.now())
		require.Empty(t, why, "it has leave to try")
		_, err := store.Get(t.Context(), Leases, ProbeKey("x"))
		require.NoError(t, err)

		require.NoError(t, f.change(t.Context(), "x", func(a Account) (Account, bool) { return a.Forgotten(time.Now()), true }))
		time.Sleep(Heartbeat)
		f.tick(t.Context())
		_, err = store.Get(t.Context(), Leases, ProbeKey("x"))
		require.ErrorIs(t, err, ErrMissing, "it holds up nobody")
	})
}

// delayed is a store whose answer with its time is on its way for some time, in both directions.
type delayed struct {
	*Memory
	there, back time.Duration
}

func (d *delayed) Now(ctx context.Context) (time.Time, error) {
	time.Sleep(d.there)
	defer time.Sleep(d.back)
	return d.Memory.Now(ctx)
}

func TestTheTimeThatAnAnswerTakesIsNoSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(&delayed{NewMemory(time.Now), 500 * time.Millisecond, 500 * time.Millisecond}, 0)
		require.NoError(t, f.measure(t.Context()))
		require.Zero(t, f.Standing().Skew)
	})
}

func TestASlowAnswerTellsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &delayed{NewMemory(time.Now), slowAnswer, 0}
		f := aheadBy(store, time.Minute)
		require.ErrorIs(t, f.measure(t.Context()), errSlow, "this host does not know the fleet's time yet")
		require.False(t, f.clock.measured)
		store.there = slowAnswer - time.Millisecond
		require.NoError(t, f.measure(t.Context()))
		skew := f.Standing().Skew
		require.InDelta(t, -time.Minute, skew, float64(slowAnswer/2))
		store.there = slowAnswer
		require.NoError(t, f.measure(t.Context()), "it knows it")
		require.Equal(t, skew, f.Standing().Skew, "and the exact answer counts")
	})
}

func TestAClockMayBeOffByTheLargestSkew(t *testing.T) {
	for offset, skewed := range map[time.Duration]bool{
		0: false, LargestSkew: false, -LargestSkew: false, LargestSkew + 1: true, -LargestSkew - 1: true,
	} {
		require.Equal(t, skewed, clock{offset: offset}.skewed(), "%s", offset)
	}
}

// A host that lost its connection continues alone before its lease ends, and acts on a permission
// only as long as no other host can have got it.
func TestTimesDependOnTheHeartbeat(t *testing.T) {
	for _, c := range []struct{ heartbeat, lease, silence, again, goodFor time.Duration }{
		{Heartbeat, 45 * time.Second, 30 * time.Second, 5 * time.Second, 10 * time.Second},
		{6 * time.Second, 18 * time.Second, 12 * time.Second, 2 * time.Second, 4 * time.Second},
		{time.Minute, 3 * time.Minute, 2 * time.Minute, 20 * time.Second, 10 * time.Second},
	} {
		p := pace{c.heartbeat}
		require.Equal(t, c.lease, p.lease())
		require.Equal(t, c.silence, p.silence())
		require.Equal(t, c.again, p.again())
		require.Equal(t, c.goodFor, p.goodFor())
	}
}

func TestOfManyHostsOnlySomeListTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		hosts    int
		notifier uint64
		u        float64
		lists    bool
	}{
		"few hosts":                       {manyHosts, 0, 0.999, true},
		"many hosts, by chance":           {2 * manyHosts, 0, 0.5, true},
		"many hosts, by chance not":       {2 * manyHosts, 0, 0.501, false},
		"very many hosts":                 {10 * manyHosts, 0, 0.11, false},
		"very many hosts, by chance":      {10 * manyHosts, 0, 0.09, true},
		"the host that reports to people": {10 * manyHosts, 7, 0.999, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := aheadBy(NewMemory(time.Now), 0)
			f.seeHosts(c.hosts)
			f.notifier.rev, f.opts.Rand = c.notifier, func() float64 { return c.u }
			require.Equal(t, c.lists, f.listsHosts())
		})
	}
}

// seeHosts makes a fleet of that many hosts.
func (f *Fleet) seeHosts(n int) {
	f.hosts = make(map[string]Host, n)
	for i := range n {
		f.hosts[fmt.Sprint("h", i)] = Host{}
	}
}

// Hosts that wait for the same change do not all ask in the same moment.
func TestHostsThatLearnOfAChangeSpreadTheirQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(NewMemory(time.Now), 0)
		f.opts.Rand = func() float64 { return 0.25 }
		f.seeHosts(10)
		require.Equal(t, 125*time.Millisecond, f.spread().Sub(f.now()), "a quarter of 50 ms for each host")
		f.seeHosts(10_000)
		require.Equal(t, 2500*time.Millisecond, f.spread().Sub(f.now()), "a quarter of half a stagger at most")
	})
}

func TestASessionThatAskedRecentlyStillAsks(t *testing.T) {
	p := pace{Heartbeat}
	a := &account{asked: noon}
	require.True(t, a.asks(noon.Add(askAgain), p))
	require.True(t, a.asks(noon.Add(askAgain+p.again()), p), "it asks again after that time, and is not always punctual")
	require.False(t, a.asks(noon.Add(askAgain+p.again()+1), p))
	require.False(t, (&account{}).asks(noon, p))
}
