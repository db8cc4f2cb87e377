package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// A usage of the week that one session learned applies to all sessions of its account.
func TestAWeekIsTheAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.WeeklyReserve, rules.Stagger, rules.Margin = 20, 0, 0
		w := newWorld(t, rules, recovers)
		reset, week := time.Now().Add(time.Hour), time.Now().Add(30*time.Hour)
		for _, id := range []string{"one", "other"} {
			w.offset++
			require.NoError(t, w.Observe(t.Context(), []resume.Observation{{
				Key: resume.Key{Agent: "bot", ID: id}, Account: "bot:default", Pos: resume.Position{Epoch: "1", Offset: w.offset}, Event: limitedUntil(time.Now(), limit.UsageLimit, reset),
			}}))
		}
		w.order("one", resume.Learned{Usage: &resume.Usage{At: time.Now(), WeekUsed: 85, WeekResetsAt: week}})
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		begun := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.began)
		}
		require.Zero(t, begun())
		time.Sleep(29 * time.Hour)
		w.stop()
		require.Equal(t, 2, begun(), "in the new week both go on")
	})
}
