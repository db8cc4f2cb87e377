package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestSessionsOfOneCauseWithinGroupWaitAreOneNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a"}
		n := running(t, Options{Agents: known, Config: Config{Channels: ways(ch), GroupWait: 10 * time.Second}})
		began := time.Now()
		for i := range 6 {
			n.Report(GaveUp, session("claude-code:default", i))
			time.Sleep(time.Second)
		}
		require.Empty(t, ch.notices(), "it must not go out before group_wait is over")
		time.Sleep(5 * time.Second)
		synctest.Wait()

		got := ch.notices()
		require.Len(t, got, 1)
		require.Len(t, got[0].Sessions, 6)
		require.Equal(t, "claude-code:default", got[0].Account)
		require.Equal(t, 10*time.Second, ch.times()[0].Sub(began))
		require.Equal(t, "6 sessions: resumed gave up (usage limit)", got[0].Title)
		for i := range 6 {
			require.Contains(t, got[0].Text, fmt.Sprintf("api%d", i))
		}
	})
}

func providers(notices []Notice) []string {
	var all []string
	for _, n := range notices {
		all = append(all, n.Provider)
	}
	slices.Sort(all)
	return all
}

func TestOtherAccountEventOrCauseIsAnotherNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a"}
		n := running(t, Options{Config: Config{Channels: ways(ch), GroupWait: 10 * time.Second}})
		other := session("claude-code:default", 3)
		other.Class = limit.Network
		n.Report(GaveUp, session("claude-code:default", 1))
		n.Report(GaveUp, session("codex:default", 2))
		n.Report(GaveUp, other)
		n.Report(Parked, session("claude-code:default", 4))
		elsewhere := session("codex:default", 5)
		elsewhere.Provider = "azure"
		n.Report(GaveUp, elsewhere)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Len(t, ch.notices(), 5)
		require.Equal(t, []string{"", "", "", "", "azure"}, providers(ch.notices()))
	})
}

func TestGroupWaitZeroTellsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", events: Events()}
		n := running(t, Options{Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Len(t, ch.notices(), 1)
		require.Equal(t, "resumed retry 0001-9c1e", ch.notices()[0].RetryCommand)
		n.Report(Limited, session("x", 2))
		settle()
		require.Len(t, ch.notices(), 2)
	})
}

func TestEventsAreThoseOfTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standard := &fakeChannel{name: "standard"}
		good := &fakeChannel{name: "good", events: []Event{Recovered, ConfigError}}
		n := running(t, Options{Config: Config{Channels: ways(standard, good)}})
		for _, e := range []Event{GaveUp, Parked, Limited, Retrying, Recovered} {
			n.Report(e, session("x", 1))
		}
		n.TellConfigError("line 3: bad")
		settle()
		require.ElementsMatch(t, []Event{GaveUp, Parked}, eventsOf(standard))
		require.ElementsMatch(t, []Event{Recovered, ConfigError}, eventsOf(good))
	})
}

// Damaged state is reported once, also across restarts, to the channels that get events which need a
// person.
func TestDamagedStateIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, people, silent := newMemStore(), &fakeChannel{name: "people"}, &fakeChannel{name: "silent", events: []Event{Recovered}}
		for range 2 {
			n, stop := start(t, Options{Store: store, Config: Config{Channels: ways(people, silent)}})
			n.TellStateError("resumed.db was damaged")
			settle()
			stop()
		}
		require.Equal(t, []Event{StateError}, eventsOf(people))
		require.Contains(t, people.notices()[0].Text, "resumed.db was damaged")
		require.Empty(t, eventsOf(silent))
	})
}

// If the state was removed there is no outbox: that is reported without it.
func TestLostStateIsToldWithoutAnOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, tries := newMemStore(), 0
		store.gate = func(string, bool) error { return errors.New("it is gone") }
		people := &fakeChannel{name: "people", send: func(context.Context, Notice) error {
			if tries++; tries < 3 {
				return errors.New("nobody answers")
			}
			return nil
		}}
		n := running(t, Options{Store: store, Config: Config{Channels: ways(people)}})
		n.TellStateLost(t.Context(), "the database was removed")
		require.Equal(t, 3, tries)
	})
}

func TestNoEventsAtAllMeansThatNothingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := &fakeChannel{name: "quiet", events: []Event{}}
		n := running(t, Options{Config: Config{Channels: ways(quiet)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Empty(t, eventsOf(quiet))
	})
}

// settle waits until everything has happened that is due now.
func settle() {
	time.Sleep(3 * batchDelay)
	synctest.Wait()
}

func eventsOf(ch *fakeChannel) []Event {
	var events []Event
	for _, n := range ch.notices() {
		events = append(events, n.Event)
	}
	return events
}

func TestFailedDeliveryIsTriedAgainOnItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
			if tries++; tries < 10 {
				return errDown
			}
			return nil
		}}
		store := newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(2 * time.Hour)
		synctest.Wait()

		var waits []time.Duration
		at := ch.times()
		for i := range len(at) - 1 {
			waits = append(waits, at[i+1].Sub(at[i]).Round(time.Second))
		}
		require.Equal(t, []time.Duration{
			5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
			160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute,
		}, waits)
		for _, got := range ch.notices() {
			require.Equal(t, ch.notices()[0], got, "every try sends the same, under the same id")
		}
		require.Equal(t, []string{"delivered"}, store.outcomes())
	})
}

func TestRetryAfterBeatsTheScheduleAndSilencesTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
			if tries++; tries == 1 {
				return &SendError{After: time.Hour, Err: errDown}
			}
			return nil
		}}
		n := running(t, Options{Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		n.Report(GaveUp, session("y", 2)) // must not be sent during the pause either
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		require.Len(t, ch.notices(), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, ch.notices(), 3)
	})
}

func TestUndeliverableNoticeIsDroppedAfterADayLoudly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logs
		counted := map[string]int{}
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error { return errDown }}
		store := newMemStore()
		n := running(t, Options{
			Store:  store,
			Log:    log.logger(),
			Count:  func(name string, o Outcome) { counted[name+" "+string(o)]++ },
			Config: Config{Channels: ways(ch)},
		})
		began := time.Now()
		n.Report(GaveUp, session("x", 1))
		time.Sleep(23*time.Hour + 40*time.Minute)
		synctest.Wait()
		require.Equal(t, 1, n.Pending())
		time.Sleep(25 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"dropped"}, store.outcomes())
		require.Equal(t, map[string]int{"a dropped": 1}, counted)
		require.Zero(t, n.Pending())
		require.Equal(t, 1, n.Figures()[0].Failed)
		require.Equal(t, "down", n.Figures()[0].LastError)
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())
		require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "an equal failure is warned of once")
		last := ch.times()[len(ch.times())-1]
		require.Greater(t, last.Sub(began), 23*time.Hour+45*time.Minute)
	})
}

func TestRefusedNoticeIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error { return &SendError{Final: true, Err: errDown} }}
		store := newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		require.Len(t, ch.notices(), 1)
		require.Equal(t, []string{"failed"}, store.outcomes())
	})
}

// A machine has no desktop all night: a person who logs in in the morning gets the notices within a
// minute. If nobody logs in for a day, nothing accumulates.
func TestNoticesWaitForTheNextLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logs
		var loggedIn atomic.Bool
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error {
			if loggedIn.Load() {
				return nil
			}
			return &SendError{Missing: true, Err: errors.New("no desktop")}
		}}
		store := newMemStore()
		n := running(t, Options{Store: store, Log: log.logger(), Config: Config{Channels: ways(ch)}})
		for i := range 3 {
			n.Report(GaveUp, session(fmt.Sprint("account", i), i))
			time.Sleep(3 * time.Hour)
		}
		synctest.Wait()
		require.Empty(t, store.outcomes(), "they wait")
		require.Less(t, len(ch.notices()), 3*180+60, "one look a minute is enough for all that waits")
		loggedIn.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"delivered", "delivered", "delivered"}, store.outcomes())
		require.Equal(t, 1, strings.Count(log.String(), "no desktop"), log.String())

		loggedIn.Store(false)
		n.Report(GaveUp, session("last", 9))
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		require.Equal(t, "unavailable", store.outcomes()[3])
		require.NotContains(t, log.String(), "level=ERROR")
	})
}

func TestSlowChannelDelaysNeitherOthersNorTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &fakeChannel{name: "slow", send: func(ctx context.Context, _ Notice) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		fast := &fakeChannel{name: "fast"}
		n := running(t, Options{Config: Config{Channels: ways(slow, fast)}})
		began := time.Now()
		for i := range 100 {
			n.Report(GaveUp, session(fmt.Sprint("account", i), i))
		}
		require.Zero(t, time.Since(began))
		settle()
		require.Len(t, fast.notices(), 100)
		require.Len(t, slow.notices(), 1)
	})
}

func TestGoodNewsDoesNotOvertakeTheBadNewsItCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		ch := &fakeChannel{name: "a", events: Events()}
		ch.send = func(context.Context, Notice) error {
			if !up.Load() {
				return errDown
			}
			return nil
		}
		n := running(t, Options{Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(time.Hour)
		n.Report(Recovered, session("x", 1))
		settle()
		up.Store(true)
		time.Sleep(time.Hour)
		synctest.Wait()
		got := eventsOf(ch)
		require.Equal(t, []Event{GaveUp, Recovered}, got[len(got)-2:])
		require.NotContains(t, got[:len(got)-1], Recovered)
	})
}

func TestReloadKeepsWhatWaitsForAChannelAndDropsWhatHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logs
		down := func(context.Context, Notice) error { return errDown }
		kept := &fakeChannel{name: "kept", send: down}
		gone := &fakeChannel{name: "gone", send: down}
		store := newMemStore()
		n := running(t, Options{Store: store, Log: log.logger(), Config: Config{Channels: ways(kept, gone)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(time.Minute)

		mended, added := &fakeChannel{name: "kept"}, &fakeChannel{name: "added"}
		n.Swap(Config{Channels: ways(mended, added)})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Len(t, mended.notices(), 1)
		require.Empty(t, added.notices())
		require.Equal(t, 1, kept.closed)
		require.Equal(t, 1, gone.closed)
		require.Equal(t, []string{"delivered", "removed"}, store.outcomes())
		require.Contains(t, log.String(), "channel=gone notices=1")

		n.Report(GaveUp, session("x", 2))
		settle()
		require.Len(t, added.notices(), 1)
	})
}

func TestTenThousandSessionsAtOnceAreOneBoundedNoticeAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &fakeChannel{name: "a"}
		store := newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch), GroupWait: 10 * time.Second}})
		for i := range 10_000 {
			n.Report(GaveUp, session(fmt.Sprint("claude-code:", i%2), i))
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		got := ch.notices()
		require.Len(t, got, 2)
		for _, notice := range got {
			require.Len(t, notice.Sessions, MaxListed)
			require.Equal(t, 5000-MaxListed, notice.Omitted)
			require.Contains(t, notice.Title, "5000 sessions")
			require.Less(t, len(notice.Text), 1500)
		}
		require.Less(t, len(store.values[marksKey]), 2<<20)
		require.Less(t, store.writes, 20, "a burst is stored in batches")
	})
}

func TestStoreThatRefusesIsAskedAgainAndNothingIsSentMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		full.Store(true)
		store := newMemStore()
		store.gate = func(_ string, after bool) error {
			if full.Load() && !after {
				return errors.New("disk full")
			}
			return nil
		}
		ch := &fakeChannel{name: "a"}
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Empty(t, ch.notices(), "a notice is durable before it is sent")
		full.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, ch.notices(), 1)
	})
}

func TestNoticeIsSentOnceAlsoWhenTheStoreFailsWhenItIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int32
		store := newMemStore()
		store.gate = func(op string, _ bool) error {
			if op == "sync" && failures.Add(1) <= 3 {
				return errors.New("disk full")
			}
			return nil
		}
		ch := &fakeChannel{name: "a"}
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Empty(t, ch.notices(), "it is not sent before it is on disk")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, ch.notices(), 1)
	})
}

func TestWhatIsGatheredGoesToTheChannelsOfTheDayItIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, kept, added := &fakeChannel{name: "gone"}, &fakeChannel{name: "kept"}, &fakeChannel{name: "added"}
		store := newMemStore()
		n := running(t, Options{Store: store, Config: Config{Channels: ways(gone, kept), GroupWait: 10 * time.Second}})
		n.Report(GaveUp, session("x", 1))
		settle()
		n.Swap(Config{Channels: ways(kept, added), GroupWait: 10 * time.Second})
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Empty(t, gone.notices())
		require.Len(t, kept.notices(), 1)
		require.Len(t, added.notices(), 1)
		require.Empty(t, store.Pending())
	})
}

func TestDeliveryWhoseEndCannotBeStoredIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		full.Store(true)
		store := newMemStore()
		store.gate = func(op string, after bool) error {
			if op == "done" && full.Load() && !after {
				return errors.New("disk full")
			}
			return nil
		}
		ch := &fakeChannel{name: "a"}
		n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(time.Hour)
		full.Store(false)
		n.Report(GaveUp, session("y", 2)) // the store writes both
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, ch.notices(), 2)
		require.Equal(t, []string{"delivered", "delivered"}, store.outcomes())
	})
}

func TestShutdownLetsATryEndAndKeepsWhatIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemStore()
		ch := &fakeChannel{name: "a", send: func(ctx context.Context, _ Notice) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(3 * time.Second):
				return nil
			}
		}}
		cfg := Config{Channels: ways(ch), GroupWait: 10 * time.Second}
		n, stop := start(t, Options{Store: store, Config: cfg})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(11 * time.Second) // the first is being sent
		n.Report(GaveUp, session("y", 2))
		stop()
		require.Equal(t, []string{"delivered"}, store.outcomes())

		_, stop = start(t, Options{Store: store, Config: cfg})
		time.Sleep(time.Minute)
		stop()
		require.Len(t, ch.notices(), 2)
		require.Equal(t, []string{"delivered", "delivered"}, store.outcomes())
	})
}

func TestShutdownDoesNotWaitForAHangingChannelForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemStore()
		ch := &fakeChannel{name: "a", send: func(ctx context.Context, _ Notice) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		n, stop := start(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		began := time.Now()
		stop()
		require.Equal(t, stopGrace, time.Since(began))
		pending := store.Pending()
		require.Len(t, pending, 1)
		require.Zero(t, pending[0].Tries, "our own end is not the channel's failure")
	})
}

func TestRetryCountAndTimeSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemStore()
		ch := &fakeChannel{name: "a", send: func(context.Context, Notice) error { return errDown }}
		cfg := Config{Channels: ways(ch)}
		n, stop := start(t, Options{Store: store, Config: cfg})
		n.Report(GaveUp, session("x", 1))
		time.Sleep(3 * time.Minute) // tries at 0, 5, 15, 35, 75, 155 s; next at 315 s
		stop()
		require.Len(t, ch.notices(), 6)
		_, stop = start(t, Options{Store: store, Config: cfg})
		time.Sleep(2 * time.Minute)
		require.Len(t, ch.notices(), 6, "a restart is no reason to hurry")
		time.Sleep(16 * time.Second)
		synctest.Wait()
		require.Len(t, ch.notices(), 7)
		stop()
	})
}

func TestToldAgainAfterARestartIsPassedOverButNotATrueRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemStore()
		ch := &fakeChannel{name: "a"}
		cfg := Config{Channels: ways(ch)}
		n, stop := start(t, Options{Store: store, Config: cfg})
		n.Report(GaveUp, session("x", 1))
		settle()
		stop()
		require.Len(t, ch.notices(), 1)

		n, stop = start(t, Options{Store: store, Config: cfg})
		defer stop()
		n.Report(GaveUp, session("x", 1)) // reported to be sure, at the start
		n.Report(GaveUp, session("x", 2)) // this one was never reported
		settle()
		require.Len(t, ch.notices(), 2)
		n.Report(GaveUp, session("x", 1)) // a person retried without success
		settle()
		require.Len(t, ch.notices(), 3)
	})
}

func TestNoticeGoesOutInTheChannelsOwnWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, own := &fakeChannel{name: "plain"}, &fakeChannel{name: "own", prefix: "Hear: "}
		n := running(t, Options{Config: Config{Channels: ways(plain, own)}})
		n.Report(GaveUp, session("x", 1))
		settle()
		require.Equal(t, "Hear: "+plain.notices()[0].Title, own.notices()[0].Title)
	})
}

func TestTestNoticeGoesPastTheOutboxToOneOrAll(t *testing.T) {
	good := &fakeChannel{name: "good", prefix: "Hear: "}
	bad := &fakeChannel{name: "bad", send: func(context.Context, Notice) error { return errDown }}
	channels := ways(good, bad)

	results, err := Try(t.Context(), channels, "", "box")
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.NoError(t, results[0].Err)
	require.Equal(t, "Hear: resumed: test notice from box", results[0].Sent)
	require.Equal(t, "taken", results[0].Answer)
	require.Equal(t, "nowhere", results[0].To)
	require.ErrorIs(t, results[1].Err, errDown)

	results, err = Try(t.Context(), channels, "bad", "box")
	require.NoError(t, err)
	require.Len(t, results, 1)
	_, err = Try(t.Context(), channels, "nobody", "box")
	require.ErrorContains(t, err, `"nobody"`)
}

// Without the marks people may be told again, which is better than not at all; they are told why.
func TestWhatWasToldBeginsAnewWhenItCannotBeRead(t *testing.T) {
	for why, stored := range map[string]string{"unexpected end of JSON input": `{"version":1,"marks":`, "version 7 is not known": `{"version":7,"marks":{}}`} {
		synctest.Test(t, func(t *testing.T) {
			store, ch := newMemStore(), &fakeChannel{name: "a"}
			store.values[marksKey] = []byte(stored)
			n := running(t, Options{Store: store, Config: Config{Channels: ways(ch)}})
			n.Report(GaveUp, session("x", 1))
			settle()
			require.ElementsMatch(t, []Event{StateError, GaveUp}, eventsOf(ch))
			require.Contains(t, ch.notices()[0].Text+ch.notices()[1].Text, why)
		})
	}
}
