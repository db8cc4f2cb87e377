package resume

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// ridingOut are rules under which sessions wait out an outage.
func ridingOut(t testing.TB) Rules {
	rules := defaultRules()
	outage, ok := backoff.Named("outage")
	require.True(t, ok)
	policy := Policy{Name: "outage", Policy: outage}
	rules.ByClass = map[limit.Class]Policy{limit.Overloaded: policy, limit.ServerError: policy, limit.Network: policy}
	return rules
}

func TestVeryManyTriesAreCountedAndNotAllRemembered(t *testing.T) {
	rules := defaultRules()
	rules.Backoff = backoff.Policy{Strategy: backoff.Fixed, BaseDelay: time.Second, MaxDelay: time.Second, MaxElapsed: time.Hour}
	w := &walk{rules: rules, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.Session = w.Next(limited(w.now, limit.RateLimit), rules, w.now, half)
	for i := range 300 {
		w.now = w.NextAt
		w.Session = w.Next(Due{Mark: fmt.Sprint(i)}, rules, w.now, half)
		w.Session = w.Next(Ended{Mark: fmt.Sprint(i), Outcome: Failed, Err: "no"}, rules, w.now, half)
	}
	require.Equal(t, 300, w.Tries())
	require.Len(t, w.Attempts, maxAttempts)
	require.Equal(t, 300, w.Tries())
}

// A session that is tried for hours is told of once, after as many tries as others have in all.
func TestTriesThatEndByTimeAreReported(t *testing.T) {
	w := newWalk()
	w.rules = ridingOut(t)
	w.do(limited(noon, limit.Overloaded))
	ends := noon.Add(w.rules.PolicyOf(w.Session).MaxElapsed)
	require.Equal(t, ends, w.GivesUpAt)
	for n := range w.rules.Backoff.MaxRetries {
		require.False(t, w.Reported, n)
		w.resume().after(time.Second).end(Failed)
	}
	require.Equal(t, Waiting, w.State)
	require.True(t, w.Reported)
	require.Equal(t, Reason{Kind: WhyStillTried, N: 5, At: ends.UTC()}, w.Reason)
	told := w.NoticeID
	require.NotEmpty(t, told)
	w.resume().after(time.Second).end(Failed)
	require.Equal(t, told, w.NoticeID, "once")
	for w.State == Waiting {
		w.resume().after(time.Second).end(Failed)
	}
	require.Equal(t, GaveUp, w.State)
	require.False(t, w.now.Before(ends.Add(-w.rules.PolicyOf(w.Session).MaxDelay)))
}
