package backoff

import (
	"maps"
	"slices"
	"time"
)

// Recoveries are the durations of the latest outages that sessions waited out, by provider.
type Recoveries map[string][]time.Duration

const (
	enoughRecoveries = 20 // fewer are not used
	keptRecoveries   = 100

	leastCap, greatestCap = time.Minute, 15 * time.Minute
)

// With returns the recoveries with one more.
func (r Recoveries) With(provider string, took time.Duration) Recoveries {
	next := make(Recoveries, len(r)+1)
	maps.Copy(next, r)
	all := append(slices.Clone(r[provider]), took)
	next[provider] = all[max(0, len(all)-keptRecoveries):]
	return next
}

// Median returns the median duration of that provider's outages, and of how many it is.
func (r Recoveries) Median(provider string) (median time.Duration, n int) {
	all := slices.Sorted(slices.Values(r[provider]))
	if n = len(all); n == 0 {
		return 0, 0
	}
	return (all[(n-1)/2] + all[n/2]) / 2, n
}

// Cap returns the longest useful wait between two tries: a quarter of the median outage. False: too few
// are known.
func (r Recoveries) Cap(provider string) (time.Duration, bool) {
	median, n := r.Median(provider)
	if n < enoughRecoveries {
		return 0, false
	}
	return min(max(median/4, leastCap), greatestCap).Round(time.Second), true
}
