package notify

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const year = 365 * 24 * time.Hour

// wall is a clock that people set.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time             { return time.Now().Add(time.Duration(w.off.Load())) }
func (w *wall) set(by time.Duration)       { w.off.Add(int64(by)) }
func down(context.Context, Notice) error   { return errDown }
func unreachable(name string) *fakeChannel { return &fakeChannel{name: name, send: down} }

// However the clock is set, a notice is tried with its backoff, for a day.
func TestNoticeIsTriedForADayThatWasLivedThrough(t *testing.T) {
	for name, by := range map[string]time.Duration{
		"it stays":             0,
		"set back an hour":     -time.Hour,
		"set back 10 years":    -10 * year,
		"set forward an hour":  time.Hour,
		"set forward 10 years": 10 * year,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock wall
				store, ch := newMemStore(), unreachable("a")
				n := running(t, Options{Store: store, Now: clock.now, Config: Config{Channels: ways(ch)}})
				n.Report(GaveUp, session("x", 1))
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				clock.set(by)
				before := len(ch.times())
				time.Sleep(12 * time.Minute)
				synctest.Wait()
				require.Greater(t, len(ch.times()), before, "it is tried as before")
				time.Sleep(20 * time.Hour)
				synctest.Wait()
				require.Empty(t, store.outcomes(), "a jump of the clock is not a day")
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				require.Equal(t, []string{"dropped"}, store.outcomes())
			})
		})
	}
}

func TestSilenceDoesNotOutlastAClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wall
		tries := 0
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
			if tries++; tries == 1 {
				return &SendError{After: 10 * time.Minute, Err: errDown}
			}
			return nil
		}}
		n := running(t, Options{Now: clock.now, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		clock.set(-year)
		n.Report(GaveUp, session("y", 2))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		require.Len(t, ch.notices(), 3)
	})
}

// The pause that a server asked for goes on while the laptop is closed.
func TestAPauseEndsWhileTheMachineSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wall
		tries := 0
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
			if tries++; tries == 1 {
				return &SendError{After: time.Hour, Err: errDown}
			}
			return nil
		}}
		n := running(t, Options{Now: clock.now, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Equal(t, 1, tries)
		clock.set(time.Hour) // timers do not advance meanwhile
		time.Sleep(longestSleep + time.Second)
		synctest.Wait()
		require.Equal(t, 2, tries)
	})
}

// The notice of an earlier process has the time of a clock that was years ahead or behind, or of long
// before, if the machine was off.
func TestNoticeOfAnotherClockIsDeliveredSoonAfterTheStart(t *testing.T) {
	for name, by := range map[string]time.Duration{"years ahead": 10 * year, "years behind": -10 * year, "an hour ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock wall
				clock.set(by)
				store := newMemStore()
				n, stop := start(t, Options{Store: store, Now: clock.now, Config: Config{Channels: ways(unreachable("a"))}})
				n.Report(GaveUp, session("x", 1))
				n.Report(Parked, session("x", 2))
				time.Sleep(time.Hour)
				stop()

				clock.set(-by)
				tries := 0
				ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
					if tries++; tries <= 2 {
						return errDown // the network is up a little later
					}
					return nil
				}}
				running(t, Options{Store: store, Now: clock.now, Config: Config{Channels: ways(ch)}})
				time.Sleep(75 * time.Minute)
				synctest.Wait()
				require.Equal(t, []string{"delivered", "delivered"}, store.outcomes())
			})
		})
	}
}

// A gateway that asks for a pause of 68 years is not believed: its notice is tried for a day, and other
// notices are sent.
func TestAbsurdRetryAfterCostsNoNoticeAndSilencesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := map[string]int{}
		ch := &fakeChannel{name: "a", send: func(_ context.Context, n Notice) error {
			if refused[n.Account]++; n.Account == "x" && refused["x"] <= 5 {
				return &SendError{After: 2147483647 * time.Second, Err: errDown}
			}
			return nil
		}}
		store := newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		n.Report(GaveUp, session("y", 2))
		settle()
		require.Equal(t, []string{"delivered"}, store.outcomes(), "the other one is not held up")
		time.Sleep(5*time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"delivered", "delivered"}, store.outcomes())
		require.Equal(t, 6, refused["x"], "once an hour")
	})
}
