package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// told is a session that was refused at that time.
func told(id string, at, reset time.Time) resume.Session {
	return resume.Session{
		Key: resume.Key{Agent: "bot", ID: id}, State: resume.Waiting, LimitedAt: at,
		Interruption: resume.Interruption{
			Limit: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: reset}},
		},
	}
}

func refusal(s resume.Session) resume.Change {
	return resume.Change{Event: resume.Limited{At: s.LimitedAt, Verdict: s.Limit}, After: s}
}

// A permission to start is used up, or ends with the next limit, and with nothing else.
func TestAPermissionToStartEndsWithTheNextLimit(t *testing.T) {
	for state, starts := range map[resume.Breaker]bool{resume.Closed: true, resume.Open: false, resume.HalfOpen: false} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := aheadBy(newFaulty(), 0)
				a := f.account("x")
				a.slots, a.slotsUntil = 1, f.now().Add(slotFor)
				news := Account{State: state}
				if state == resume.HalfOpen {
					news.Probe = &Probe{Host: "b", Mark: "m"}
				}
				f.remember("x", stored{news, 7})
				why, _ := f.Ask(resume.Session{}, f.now())
				require.Equal(t, starts, why == "", "%q", why)
			})
		})
	}
}

func TestWhereNoSessionHasToWaitStartsAreNotCounted(t *testing.T) {
	a := &account{slots: everybody, slotsUntil: noon.Add(slotFor)}
	require.True(t, a.passes(resume.Key{}, false, noon, slotFor))
	require.Equal(t, everybody, a.slots)
}

// A host may have missed changes. It reads every account that is limited as far as it knows, with each
// heartbeat, and no other.
func TestAHostReadsEveryLimitedAccountWithItsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		before := map[string]string{
			"one": `{"state":"open"}`, "two": `{"state":"open"}`,
			"three": `{"state":"half_open","probe":{"host":"b","mark":"m"}}`, "four": `{"state":"closed"}`,
		}
		for id, value := range before {
			store.put(t, Accounts, id, value)
			_, err := f.read(t.Context(), id)
			require.NoError(t, err)
			store.put(t, Accounts, id, `{"state":"closed","epoch":9}`)
		}
		f.tick(t.Context())
		for _, id := range []string{"one", "two", "three"} {
			require.Equal(t, Account{State: resume.Closed, Epoch: 9}, f.Known()[id], id)
		}
		require.Equal(t, 1, store.asked("get four"))
	})
}

// A change of an account makes a host ask that would have waited, and no host that asks soon anyway.
func TestAChangeMakesAHostAskSoon(t *testing.T) {
	const soon = Heartbeat / 3
	for name, c := range map[string]struct {
		waits time.Duration
		value string
		asks  time.Duration
	}{
		"it waits for long":                 {time.Hour, `{"state":"closed"}`, 0},
		"it waits a little longer":          {soon + 1, `{"state":"open"}`, 0},
		"it asks soon":                      {soon, `{"state":"closed"}`, soon},
		"another host probes: it must wait": {time.Hour, `{"state":"half_open","probe":{"host":"b","mark":"m"}}`, time.Hour},
		"another host has written nonsense": {time.Hour, `{`, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := aheadBy(newFaulty(), 0)
				f.account("x").tryAt = f.now().Add(c.waits)
				f.accountChanged(Entry{Key: "x", Value: []byte(c.value), Rev: 3, At: f.now()})
				require.Equal(t, c.asks, f.account("x").tryAt.Sub(f.now()))
			})
		})
	}
}

func TestThatALimitIsOverIsReportedUntilTheStoreKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		store.put(t, Accounts, "x", `{"state":"open","epoch":1}`)
		f.tick(t.Context())
		_, err := f.read(t.Context(), "x")
		require.NoError(t, err)
		time.Sleep(time.Second)
		f.Changed(resume.Change{Event: resume.Progressed{At: f.now()}, After: resume.Session{State: resume.Watching}})
		require.Equal(t, resume.Closed, f.Known()["x"].State, "it counts here at once")
		store.err = errSilence
		f.tick(t.Context())
		require.Equal(t, []string{"x"}, f.pending())
		store.err = nil
		f.tick(t.Context())
		e, err := store.Get(t.Context(), Accounts, "x")
		require.NoError(t, err)
		a, err := ReadAccount(e)
		require.NoError(t, err)
		require.Equal(t, resume.Closed, a.State)
		require.Empty(t, f.pending(), "nothing is left to do")
	})
}

func TestARefusalThatTheFleetKnowsIsNotReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		f := aheadBy(store, 0)
		reset := time.Now().Add(time.Hour)
		f.Changed(refusal(told("one", f.now(), reset)))
		require.Equal(t, []string{"x"}, f.pending())
		f.tick(t.Context())
		require.Empty(t, f.pending())
		time.Sleep(time.Second)
		f.Changed(refusal(told("two", f.now(), reset)))
		require.Empty(t, f.pending(), "it is the same window")
		require.Equal(t, 1, store.asked("write x"))
		f.Changed(refusal(told("three", f.now(), reset.Add(time.Hour))))
		require.Equal(t, []string{"x"}, f.pending())
	})
}

// What a probe was told ends it, also if the account would not open for it.
func TestTheRefusalOfAProbeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(newFaulty(), 0)
		s := told("one", f.now().Add(-time.Hour), time.Now().Add(-time.Minute))
		f.Changed(refusal(s))
		time.Sleep(time.Minute)
		_, _ = f.Ask(s, f.now())
		f.tick(t.Context())
		why, _ := f.Ask(s, f.now())
		require.Empty(t, why, "it probes")
		time.Sleep(time.Second)
		again := told("one", f.now(), time.Now().Add(-30*time.Second))
		f.Changed(refusal(again))
		f.tick(t.Context())
		e, err := f.opts.Store.Get(t.Context(), Accounts, "x")
		require.NoError(t, err)
		a, err := ReadAccount(e)
		require.NoError(t, err)
		require.Equal(t, resume.Open, a.State)
		require.EqualValues(t, 2, a.Epoch, "the fleet was told")
		require.True(t, a.Reset.Equal(again.Limit.Reset.At))
	})
}

func TestTheEngineIsNotWokenForNothing(t *testing.T) {
	for name, c := range map[string]struct {
		left, stirs int
	}{"the step is used up": {0, 0}, "one may start": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := aheadBy(newFaulty(), 0)
				stirs := 0
				f.opts.Stir = func(context.Context) { stirs++ }
				_, err := f.tryStart(t.Context(), "x", stored{Account{State: resume.Closed, Ramp: &Ramp{From: f.now(), Size: 1, Left: c.left}}, 0})
				require.NoError(t, err)
				require.Equal(t, c.stirs, stirs)
			})
		})
	}
}

func TestALimitIsForgottenAlsoWhileAHostProbes(t *testing.T) {
	for value, written := range map[string]int{
		`{"state":"open","epoch":2}`: 1, `{"state":"half_open","epoch":2,"probe":{"host":"b","mark":"m"}}`: 1, `{"state":"closed","epoch":2}`: 0,
	} {
		store := newFaulty()
		f := aheadBy(store, 0)
		store.put(t, Accounts, "x", value)
		require.NoError(t, f.Forget(t.Context(), "x"))
		require.Equal(t, resume.Closed, f.Known()["x"].State, value)
		require.Equal(t, written, store.asked("write x"), value)
	}
}

// Hosts that are alone spread their starts over as many staggers as there were hosts.
func TestAHostThatIsAloneWaitsItsTurnByChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(newFaulty(), 0)
		f.opts.Rand = func() float64 { return 0.25 }
		f.seeHosts(12)
		f.noteAnswer(true, errSilence)
		time.Sleep(time.Minute)
		f.reportStanding(t.Context())
		alone := f.now()
		why, until := f.Ask(resume.Session{}, f.now())
		require.Contains(t, why, "alone")
		require.Equal(t, 3*rules.Stagger, until.Sub(alone), "a quarter of twelve")
		time.Sleep(3*rules.Stagger - 1)
		why, _ = f.Ask(resume.Session{}, f.now())
		require.NotEmpty(t, why)
		time.Sleep(time.Nanosecond)
		why, _ = f.Ask(resume.Session{}, f.now())
		require.Empty(t, why)
	})
}

// A person may ask for a try before the reset. It needs the permission to probe: one to start, from
// before the limit, is none.
func TestAPersonGetsATryBeforeTheReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(newFaulty(), 0)
		s := told("one", f.now(), time.Now().Add(5*time.Hour))
		f.Changed(refusal(s))
		why, _ := f.Ask(s, f.now())
		require.Contains(t, why, "limited until")
		s.RetryAskedAt = f.now()
		why, _ = f.Ask(s, f.now())
		require.Equal(t, inTurn, why)
		a := f.account("x")
		a.slots, a.slotsUntil = 1, f.now().Add(slotFor)
		why, _ = f.Ask(s, f.now())
		require.Equal(t, inTurn, why, "that is a permission to start")
		f.tick(t.Context())
		why, _ = f.Ask(s, f.now())
		require.Empty(t, why)
		require.Equal(t, s.Key, a.probe.key)
	})
}

func TestANoticeThatCannotBeReportedWaitsForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := aheadBy(newFaulty(), 0)
		unwanted := errors.New("no channel wants it")
		f.opts.Deliver = func(context.Context, Notice) error { return unwanted }
		n := Notice{At: f.now()}
		time.Sleep(wantedFor)
		require.ErrorIs(t, f.deliver(t.Context(), n), unwanted)
		time.Sleep(time.Nanosecond)
		require.NoError(t, f.deliver(t.Context(), n), "it is dropped")
	})
}
