package backoff

import "time"

// Tracker counts the retries of one operation. It is a value without a lock:
// whoever runs the operation owns it.
type Tracker struct {
	policy  Policy
	most    int // of retries
	retries int
	known   int // how many of spans are computed
	spans   [spansKept]span
}

// spansKept is for how many retries it is remembered what chance has to choose from: an
// operation that is tried for ever, or again and again, throws the dice and no more.
const spansKept = 8

// NewTracker returns the tracker of an operation that was not retried yet.
func NewTracker(p Policy) Tracker { return Tracker{policy: p, most: p.retries()} }

// Next counts one more retry and returns the wait before it, or false where
// the policy allows no more. u is as in Policy.Delay.
func (t *Tracker) Next(u float64) (time.Duration, bool) {
	if t.Exhausted() {
		return 0, false
	}
	t.retries++
	if t.retries <= t.known {
		return t.spans[t.retries-1].at(u), true
	}
	return t.first(u), true
}

// first computes a wait and remembers what it was chosen from.
func (t *Tracker) first(u float64) time.Duration {
	if n := t.retries; n == t.known+1 && n <= spansKept && t.policy.Jitter && !t.policy.HardCap {
		t.spans[t.known] = t.policy.span(n)
		t.known++
	}
	return t.policy.Delay(t.retries, u)
}

// Retries returns how many retries were counted.
func (t *Tracker) Retries() int { return t.retries }

// Exhausted reports whether the policy allows no more retries.
func (t *Tracker) Exhausted() bool { return t.retries >= t.most }

// Reset forgives all retries, as after a success.
func (t *Tracker) Reset() { t.retries = 0 }
