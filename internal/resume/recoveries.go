package resume

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"resumed/internal/backoff"
)

// Recoveries are how long the outages took that sessions waited out, the last ones,
// by provider.
type Recoveries map[string][]time.Duration

const (
	enoughRecoveries = 20 // before anything is learned from them
	keptRecoveries   = 100

	leastCap, greatestCap = time.Minute, 15 * time.Minute
)

// asked names the provider of the session: all accounts of it meet the same outages.
func (s Session) asked() string { return cmp.Or(s.Provider, s.Key.Agent) }

// Recovery returns how long the outage took that this step ended, and of which provider it was.
func (c Change) Recovery() (provider string, took time.Duration, ok bool) {
	moved, ok := c.Event.(Progressed)
	if !ok || !c.Before.Interrupted() || c.After.State != Watching || !c.Before.Limit.Class.Outage() {
		return "", 0, false
	}
	took = earlier(moved.At, c.At).Sub(c.Before.stoppedAt())
	return c.Before.asked(), took, took > 0 && c.Before.MissedAt.IsZero()
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

// PolicyOf returns the policy that is in force for what stopped the session. Recoveries change the
// built-in one alone: a person's own stays as it was written.
func (r Rules) PolicyOf(s Session) backoff.Policy {
	policy := r.Policy(s.Key.Agent, s.Limit.Class)
	builtIn, _ := backoff.Named("outage")
	if longest, ok := r.Recoveries.Cap(s.asked()); ok && policy == builtIn {
		policy.MaxDelay = longest
	}
	return policy
}
