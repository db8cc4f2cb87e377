package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
)

func TestTheLongestUsefulWaitIsAQuarterOfTheMedianOutage(t *testing.T) {
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	var r backoff.Recoveries
	for n := range 19 {
		r = r.With("anthropic", minutes(float64(n+30)))
	}
	_, ok := r.Cap("anthropic")
	require.False(t, ok, "19 are too few")
	r = r.With("anthropic", minutes(49))
	longest, ok := r.Cap("anthropic")
	require.True(t, ok)
	require.Equal(t, (minutes(39.5) / 4).Round(time.Second), longest, "a quarter of the median")
	for range 200 {
		r = r.With("anthropic", time.Second)
	}
	require.Len(t, r["anthropic"], 100)
	longest, _ = r.Cap("anthropic")
	require.Equal(t, time.Minute, longest, "no wait is shorter at its longest")
	for range 200 {
		r = r.With("anthropic", 12*time.Hour)
	}
	longest, _ = r.Cap("anthropic")
	require.Equal(t, 15*time.Minute, longest)
}
