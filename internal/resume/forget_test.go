package resume

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// keeping are rules of a user who wants little kept.
func keeping() Rules {
	rules := defaultRules()
	rules.KeepEnded, rules.KeepQuiet = 30*24*time.Hour, 30*24*time.Hour
	return rules
}

func (w *world) observe(seen Observation) {
	require.NoError(w.t, w.Observe(w.t.Context(), []Observation{seen}))
}

func TestWhatEndedLongAgoIsForgottenAsByCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keeping(), fails)
		w.see("parked", limited(time.Now(), limit.Auth))
		w.see("lost", limited(time.Now(), limit.Overloaded))
		rules := keeping()
		rules.MaxWait = 0
		require.NoError(t, w.SetRules(t.Context(), rules, func() {}))
		w.see("waits", limitedUntil(time.Now(), limit.UsageLimit, time.Now().Add(100*24*time.Hour)))
		time.Sleep(29 * 24 * time.Hour)
		require.Equal(t, Parked, w.session("parked").State)
		require.Equal(t, GaveUp, w.session("lost").State)
		time.Sleep(2 * 24 * time.Hour)
		require.Equal(t, Watching, w.session("parked").State)
		require.Contains(t, w.session("parked").Reason, "parked longer ago than history.ended_keep")
		require.Equal(t, Watching, w.session("lost").State)
		require.Contains(t, w.session("lost").Reason, "gave up longer ago")
		require.Equal(t, Waiting, w.session("waits").State, "what waits is not over")
		w.see("lost", limited(time.Now(), limit.Overloaded))
		require.Equal(t, Waiting, w.session("lost").State, "a new interruption counts again")
		w.stop()
	})
}

func TestAnEngineThatRunsForEverDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keeping(), fails)
		for day := range 100 {
			for i := range 10 {
				id := fmt.Sprint(day, "-", i)
				w.observe(Observation{
					Key: Key{"bot", id}, Account: "bot:" + id, Cwd: "/src/" + id, Pos: Position{"1", 1}, Event: Progressed{At: time.Now()},
				})
				if i == 0 {
					w.observe(Observation{Key: Key{"bot", id}, Pos: Position{"1", 2}, Event: limited(time.Now(), limit.Auth)})
				}
			}
			time.Sleep(24 * time.Hour)
		}
		require.NoError(t, w.Ping(t.Context()))
		most := 10*31 + 33 // of a month, and of those that were parked a month and a day before
		require.LessOrEqual(t, w.book.sessions.size, most)
		require.LessOrEqual(t, len(w.Engine.accounts), most)
		require.LessOrEqual(t, len(w.book.places), most)
		require.Greater(t, w.book.sessions.size, 250)
		w.stop()
	})
}

// A session that was forgotten is found again when it moves; it is not one that
// has just begun.
func TestASessionThatWasForgottenIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keeping(), fails)
		made := time.Now()
		w.see("a", Progressed{At: time.Now()})
		time.Sleep(31 * 24 * time.Hour)
		_, err := w.Session(t.Context(), Key{"bot", "a"})
		require.ErrorIs(t, err, ErrNoSession)
		w.see("b", limited(time.Now(), limit.Auth))
		time.Sleep(time.Minute)
		w.observe(Observation{Key: Key{"bot", "a"}, Cwd: "/src/b", Made: made, Pos: Position{"1", 99}, Event: Progressed{At: time.Now()}})
		require.Equal(t, made, w.session("a").BornAt)
		require.Nil(t, w.session("b").Newcomer)
		w.stop()
	})
}

// A transcript is left unread only where its session would be forgotten at once and
// no refusal in it could matter.
func TestOldTranscriptsAreLeftUnread(t *testing.T) {
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		rules Rules
		age   time.Duration // 0: none is old enough
	}{
		"nothing is forgotten":              {Rules{Lookback: day}, 0},
		"a month's window may yet return":   {Rules{KeepQuiet: day, Lookback: 6 * time.Hour}, 31*day + 6*time.Hour},
		"a longer wait is waited for":       {Rules{KeepQuiet: day, MaxWait: 60 * day, Lookback: day}, 61 * day},
		"a session is remembered so long":   {Rules{KeepQuiet: 90 * day, MaxWait: 8 * day}, 90 * day},
		"a lookback of half a year is kept": {Rules{KeepQuiet: day, Lookback: 180 * day}, 211 * day},
	} {
		want := time.Time{}
		if c.age > 0 {
			want = now.Add(-c.age)
		}
		require.Equal(t, want, c.rules.Unread(now), name)
	}
}
