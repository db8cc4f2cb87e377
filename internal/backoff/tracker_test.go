package backoff

import (
	"math/rand/v2"
	"testing"
	"time"

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

// A tracker gives the same waits as the policy.
func TestTrackerRemembersWhatThePolicySays(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	modes := []JitterMode{Symmetric, Additive, Full, Equal, "none"}
	strategies := []Strategy{Fixed, Linear, Exponential}
	for range 2000 {
		p := Policy{
			Strategy: strategies[dice.IntN(3)], BaseDelay: time.Duration(dice.Int64()), MaxDelay: time.Duration(dice.Int64()), MaxRetries: 20,
			Jitter: dice.IntN(4) > 0, JitterMode: modes[dice.IntN(5)], JitterPercent: dice.Float64() * 1.2, HardCap: dice.IntN(4) == 0, MaxExponent: dice.IntN(6),
		}
		if dice.IntN(2) == 0 {
			p.BaseDelay, p.MaxDelay = p.BaseDelay>>dice.IntN(60), p.MaxDelay>>dice.IntN(40)
		}
		tracker := NewTracker(p)
		for range 3 {
			for n := 1; n <= 1+dice.IntN(20); n++ {
				u := dice.Float64()
				got, ok := tracker.Next(u)
				require.True(t, ok)
				require.Equal(t, p.Delay(n, u), got, "retry %d of %+v", n, p)
			}
			tracker.Reset()
		}
	}
}
