package backoff

import (
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Delay returns the wait before retry n, counting from 1. The growing delay is
// capped at MaxDelay first and spread by chance after: clamping afterwards
// would make half of all waits at the cap equal, so that is done for HardCap
// only. An n of 0 or less gives the base as it is.
//
// u is a random number in [0, 1): the caller owns the dice, so equal arguments
// give equal waits. Whatever the arguments and however bad the policy, the
// result is never negative and never overflows.
func (p Policy) Delay(n int, u float64) time.Duration {
	base := p.capped(n)
	if !p.Jitter || n <= 0 {
		return base
	}
	low, high := p.spread(base)
	d := between(low, high, u)
	if p.HardCap && d > p.MaxDelay {
		return max(p.MaxDelay, 0)
	}
	return d
}

// Range returns the capped delay before retry n as it is before jitter, and
// the least and the greatest that chance makes of it.
func (p Policy) Range(n int) (base, least, greatest time.Duration) {
	return p.capped(n), p.Delay(n, 0), p.Delay(n, 1)
}

// Delays returns the wait before each retry, in order, with the retry's
// number. A nil u means rand.Float64.
func (p Policy) Delays(u func() float64) iter.Seq2[int, time.Duration] {
	if u == nil {
		u = rand.Float64
	}
	return func(yield func(int, time.Duration) bool) {
		for t := NewTracker(p); ; {
			d, ok := t.Next(u())
			if !ok || !yield(t.Retries(), d) {
				return
			}
		}
	}
}

// capped returns the delay before retry n without jitter.
func (p *Policy) capped(n int) time.Duration {
	base, limit := max(p.BaseDelay, 0), max(p.MaxDelay, 0)
	if n <= 1 {
		return min(base, limit)
	}
	switch p.Strategy {
	case Exponential:
		shift := uint(n - 1)
		if p.MaxExponent > 0 {
			shift = min(shift, uint(p.MaxExponent))
		}
		// Shifting the limit down instead of the base up cannot overflow, and
		// a shift by 64 or more gives the 0 that is wanted.
		if base > limit>>shift {
			return limit
		}
		return base << shift
	case Linear:
		hi, lo := bits.Mul64(uint64(base), uint64(n))
		if hi != 0 || lo > uint64(limit) {
			return limit
		}
		return time.Duration(lo)
	default:
		return min(base, limit)
	}
}

// spread returns the bounds between which chance may move a delay.
func (p *Policy) spread(base time.Duration) (low, high time.Duration) {
	switch p.JitterMode {
	case Symmetric:
		half := share(base, p.JitterPercent)
		return base - half, plus(base, half)
	case Additive:
		return base, plus(base, share(base, p.JitterPercent))
	case Full:
		return 0, base
	case Equal:
		return base - base/2, base
	default:
		return base, base
	}
}

// share returns percent of d, rounded to a nanosecond.
func share(d time.Duration, percent float64) time.Duration {
	switch {
	case percent >= 1:
		return d
	case percent > 0:
		part := float64(d) * percent
		return time.Duration(part + 0.5)
	default: // 0, negative and NaN
		return 0
	}
}

func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// between returns low for u = 0, high for u = 1, and in proportion between
// them. It works on the width and not on a factor, so that the bounds are
// exact: 30 s - 10 % is 27 s, not 26.999999999 s.
func between(low, high time.Duration, u float64) time.Duration {
	switch {
	case u >= 1:
		return high
	case u > 0:
		return low + time.Duration(u*float64(high-low))
	default: // 0, negative and NaN
		return low
	}
}
