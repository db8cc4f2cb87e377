package backoff

import "time"

// Tracker counts the retries of one operation. It has no lock: only the goroutine that runs the
// operation may use it.
type Tracker struct {
	policy  Policy
	most    int // retries
	retries int
}

// NewTracker returns a tracker without retries.
func NewTracker(p Policy) Tracker { return Tracker{policy: p, most: p.retries()} }

// Next counts one more retry and returns the wait before it, or false if the policy allows no more. u
// is as in Policy.Delay.
func (t *Tracker) Next(u float64) (time.Duration, bool) {
	if t.Exhausted() {
		return 0, false
	}
	t.retries++
	return t.policy.Delay(t.retries, u), true
}

// Retries returns how many retries were counted.
func (t *Tracker) Retries() int { return t.retries }

// Exhausted reports whether the policy allows no more retries.
func (t *Tracker) Exhausted() bool { return t.retries >= t.most }

// Reset sets the count to zero, as after a success.
func (t *Tracker) Reset() { t.retries = 0 }
