package backoff

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrackerCountsToTheLimitAndStartsOverAfterReset(t *testing.T) {
	tracker := NewTracker(Default())
	for range 2 {
		require.Zero(t, tracker.Retries())
		for i, want := range plain(Default(), 5) {
			require.False(t, tracker.Exhausted())
			d, ok := tracker.Next(0.5)
			require.True(t, ok)
			require.Equal(t, want, d)
			require.Equal(t, i+1, tracker.Retries())
		}
		require.True(t, tracker.Exhausted())
		for range 3 {
			d, ok := tracker.Next(0.5)
			require.False(t, ok)
			require.Zero(t, d)
			require.Equal(t, 5, tracker.Retries(), "a refused retry is not counted")
		}
		tracker.Reset()
	}
}

func TestTrackerWithoutRetriesIsExhaustedAtOnce(t *testing.T) {
	for _, retries := range []int{0, -1} {
		tracker := NewTracker(Policy{MaxRetries: retries})
		require.True(t, tracker.Exhausted())
	}
}
