package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
)

func TestAGateCanOnlyMakeSessionsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, open atomic.Bool
		gate := func(s resume.Session, _ time.Time) (string, time.Time) {
			asked.Store(s.Key.ID == "a")
			if !open.Load() {
				return "the gate is closed", time.Time{}
			}
			return "", time.Time{}
		}
		w := newWorldOf(t, Options{Rules: defaultRules(), Gate: gate}, recovers)
		w.see("a", resume.Limited{At: time.Now(), Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}})
		synctest.Wait()
		require.False(t, asked.Load(), "it is not due")
		time.Sleep(10 * time.Minute)
		require.True(t, asked.Load())
		require.Empty(t, w.started())
		require.Equal(t, "due, but the gate is closed", sentence.Of(w.session("a")))
		open.Store(true)
		require.NoError(t, w.RecheckGate(t.Context()))
		synctest.Wait()
		require.Len(t, w.started(), 1)
		w.stop()
	})
}
