package resume

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"resumed/internal/backoff"
)

// Recoveries are how long the outages took that sessions rode out, the last ones,
// by who was asked.
type Recoveries map[string][]time.Duration

const (
	enoughRecoveries = 20 // before anything is learned from them
	keptRecoveries   = 100

	leastCap, greatestCap = time.Minute, 15 * time.Minute
)

// Asked names who answers the session: all its accounts meet the same outages.
func (s Session) Asked() string { return cmp.Or(s.Provider, s.Key.Agent) }

// RodeOut returns how long the outage took that this step ended, and whose it was.
func (c Change) RodeOut() (provider string, took time.Duration, ok bool) {
	moved, ok := c.Event.(Progressed)
	if !ok || !c.Before.Interrupted() || c.After.State != Watching || !c.Before.Limit.Class.Outage() {
		return "", 0, false
	}
	took = earlier(moved.At, c.At).Sub(c.Before.stoppedAt())
	return c.Before.Asked(), took, took > 0 && c.Before.MissedAt.IsZero()
}

// With returns the recoveries with one more.
func (r Recoveries) With(provider string, took time.Duration) Recoveries {
	next := make(Recoveries, len(r)+1)
	maps.Copy(next, r)
	all := append(slices.Clone(r[provider]), took)
	next[provider] = all[max(0, len(all)-keptRecoveries):]
	return next
}

// Median returns how long an outage of that provider took, as a rule, and from how
// many that is known.
func (r Recoveries) Median(provider string) (median time.Duration, n int) {
	all := slices.Sorted(slices.Values(r[provider]))
	if n = len(all); n == 0 {
		return 0, 0
	}
	return (all[(n-1)/2] + all[n/2]) / 2, n
}

// Cap returns the longest wait between two tries that is worth it: a quarter of what
// an outage takes. False: too few were seen.
func (r Recoveries) Cap(provider string) (time.Duration, bool) {
	median, n := r.Median(provider)
	if n < enoughRecoveries {
		return 0, false
	}
	return min(max(median/4, leastCap), greatestCap).Round(time.Second), true
}

// learned returns the policy with what was learned of the provider, where it is the
// one that is built in: a person's own stays as it was written.
func (r Rules) learned(policy backoff.Policy, s Session) backoff.Policy {
	builtIn, _ := backoff.Named("outage")
	if policy != builtIn {
		return policy
	}
	if longest, ok := r.Recoveries.Cap(s.Asked()); ok {
		policy.MaxDelay = longest
	}
	return policy
}
