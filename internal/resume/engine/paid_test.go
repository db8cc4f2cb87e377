package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// If one session continues with its user's own key, that says nothing about the account for which the
// others wait.
func TestWhoPaysProvesNothingToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := defaultRules()
		rules.MaxConcurrent, rules.Stagger, rules.Margin = 10, 0, 0
		w := newWorld(t, rules, works)
		reset := time.Now().Add(3 * time.Hour)
		for _, id := range []string{"a1", "a2"} {
			w.seeOf("", id, limitedUntil(time.Now(), limit.UsageLimit, reset))
		}
		w.seeOf("", "a3", limited(time.Now(), limit.UsageLimit)) // it waits for the window of the others
		_, err := w.Apply(t.Context(), resume.Key{Agent: "bot", ID: "a1"}, resume.Pay{})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, w.started(), 1)
		time.Sleep(time.Minute)
		w.seeOf("", "a1", resume.Progressed{At: time.Now()})
		time.Sleep(time.Hour)
		require.Len(t, w.started(), 1)
		require.Equal(t, resume.Open, w.accountOf("").State)
		require.Equal(t, 1, w.accountOf("your own key").Sessions)
		require.Equal(t, 2, w.accountOf("").Sessions)
		w.stop()
	})
}
