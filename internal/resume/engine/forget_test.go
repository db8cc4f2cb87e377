package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

// keeping are rules of a user who wants to store little.
func keeping() resume.Rules {
	rules := defaultRules()
	rules.KeepEnded, rules.KeepQuiet = 30*24*time.Hour, 30*24*time.Hour
	return rules
}

func (w *world) observe(seen resume.Observation) {
	require.NoError(w.t, w.Observe(w.t.Context(), []resume.Observation{seen}))
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
		require.Equal(t, resume.Parked, w.session("parked").State)
		require.Equal(t, resume.GaveUp, w.session("lost").State)
		time.Sleep(2 * 24 * time.Hour)
		require.Equal(t, resume.Watching, w.session("parked").State)
		require.Contains(t, sentence.Of(w.session("parked")), "needed you longer ago than history.ended_keep")
		require.Equal(t, resume.Watching, w.session("lost").State)
		require.Contains(t, sentence.Of(w.session("lost")), "needed you longer ago")
		require.Equal(t, resume.Waiting, w.session("waits").State, "what waits is not over")
		w.see("lost", limited(time.Now(), limit.Overloaded))
		require.Equal(t, resume.Waiting, w.session("lost").State, "a new interruption counts again")
		w.stop()
	})
}

func TestAnEngineThatRunsForEverDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keeping(), fails)
		for day := range 70 {
			for i := range 10 {
				id := fmt.Sprint(day, "-", i)
				w.observe(resume.Observation{
					Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:" + id, Cwd: "/src/" + id, Pos: resume.Position{Epoch: "1", Offset: 1}, Event: resume.Progressed{At: time.Now()},
				})
				if i == 0 {
					w.observe(resume.Observation{Key: resume.Key{Agent: "bot", ID: id}, Pos: resume.Position{Epoch: "1", Offset: 2}, Event: limited(time.Now(), limit.Auth)})
				}
			}
			time.Sleep(24 * time.Hour)
		}
		require.NoError(t, w.Ping(t.Context()))
		most := 10*31 + 33 // those of a month, and those that were parked a month and a day before
		require.LessOrEqual(t, len(w.book.sessions), most)
		require.LessOrEqual(t, len(w.Engine.accounts), most)
		require.LessOrEqual(t, len(w.book.dirs), most)
		require.Greater(t, len(w.book.sessions), 250)
		w.stop()
	})
}

// A session that was forgotten is found again when it moves; it does not count as new.
func TestASessionThatWasForgottenIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, keeping(), fails)
		made := time.Now()
		w.see("a", resume.Progressed{At: time.Now()})
		time.Sleep(31 * 24 * time.Hour)
		_, err := w.Session(t.Context(), resume.Key{Agent: "bot", ID: "a"})
		require.ErrorIs(t, err, resume.ErrNoSession)
		w.see("b", limited(time.Now(), limit.Auth))
		time.Sleep(time.Minute)
		w.observe(resume.Observation{Key: resume.Key{Agent: "bot", ID: "a"}, Cwd: "/src/b", Made: made, Pos: resume.Position{Epoch: "1", Offset: 99}, Event: resume.Progressed{At: time.Now()}})
		require.Equal(t, made, w.session("a").BornAt)
		require.Nil(t, w.session("b").Newcomer)
		w.stop()
	})
}
