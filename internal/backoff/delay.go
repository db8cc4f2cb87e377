package backoff

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Delay returns the wait before retry n, counting from 1. The growing delay is first capped at
// MaxDelay, then jittered: if it was capped afterwards, half of all waits at the cap would be equal, so
// only HardCap does that. An n of 0 or less gives the base delay without jitter.
//
// u is a random number in [0, 1) from the caller, so equal arguments give equal waits. For all
// arguments, and even for an invalid policy, the result is never negative and never overflows.
func (p *Policy) Delay(n int, u float64) time.Duration {
	if !p.Jitter || n <= 0 {
		return p.capped(n)
	}
	d := p.jittered(n, u)
	if p.HardCap {
		return min(d, max(p.MaxDelay, 0))
	}
	return d
}

// jittered returns the delay before retry n for a random number. Nanoseconds are exact in a float64 up
// to 104 days.
func (p *Policy) jittered(n int, u float64) time.Duration {
	low, width := float64(p.capped(n)), 0.0
	switch p.JitterMode {
	case Symmetric:
		half := low * inUnit(p.JitterPercent)
		low, width = low-half, half+half
	case Additive:
		width = low * inUnit(p.JitterPercent)
	case Full:
		low, width = 0, low
	case Equal:
		low, width = low/2, low/2
	}
	// The product is rounded separately, so that all machines give the same delay. The half rounds the
	// sum to the nearest nanosecond, so that 30 s - 55 % is 13.5 s and not 13.499999999 s.
	sum := low + float64(width*inUnit(u)) + 0.5
	if sum >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(sum)
}

// Range returns the capped delay before retry n without jitter, and the smallest and largest delay with
// it.
func (p Policy) Range(n int) (base, least, greatest time.Duration) {
	return p.capped(n), p.Delay(n, 0), p.Delay(n, 1)
}

func (p *Policy) capped(n int) time.Duration {
	d, limit := p.BaseDelay, p.MaxDelay
	if d < 0 || limit < 0 {
		return 0
	}
	if n <= 1 {
		return min(d, limit)
	}
	switch p.Strategy {
	case Exponential:
		shift := uint(n - 1)
		if p.MaxExponent > 0 {
			shift = min(shift, uint(p.MaxExponent))
		}
		// To shift the limit down instead of the delay up cannot overflow, and a shift by 64 or more
		// gives 0, as needed.
		if d > limit>>shift {
			return limit
		}
		return d << shift
	case Linear:
		hi, lo := bits.Mul64(uint64(d), uint64(n))
		if hi != 0 || lo > uint64(limit) {
			return limit
		}
		return time.Duration(lo)
	default:
		return min(d, limit)
	}
}

func inUnit(x float64) float64 {
	switch {
	case x >= 1:
		return 1
	case x > 0:
		return x
	default:
		return 0
	}
}

// Schedule is all waits of a policy, as `backoff --json` prints them.
type Schedule struct {
	Version int             `json:"version"`
	Policy  Policy          `json:"policy"`
	Delays  []ScheduleDelay `json:"delays"`
	Total   float64         `json:"total_seconds"`
}

// ScheduleDelay is one wait of a Schedule, and the range that jitter can give it.
type ScheduleDelay struct {
	Attempt int     `json:"attempt"`
	Base    float64 `json:"base_seconds"`
	Min     float64 `json:"min_seconds"`
	Max     float64 `json:"max_seconds"`
	Delay   float64 `json:"delay_seconds"`
}

// NewSchedule returns the waits before so many retries, or fewer if the policy ends earlier. dice
// returns the random numbers for the jitter; nil: rand.Float64.
func NewSchedule(policy Policy, retries int, dice func() float64) Schedule {
	if dice == nil {
		dice = rand.Float64
	}
	s := Schedule{Version: 1, Policy: policy, Delays: make([]ScheduleDelay, 0, retries)}
	for n := 1; n <= retries && (policy.MaxElapsed == 0 || s.Total < policy.MaxElapsed.Seconds()); n++ {
		base, least, greatest := policy.Range(n)
		delay := policy.Delay(n, dice()).Seconds()
		s.Delays = append(s.Delays, ScheduleDelay{n, base.Seconds(), least.Seconds(), greatest.Seconds(), delay})
		s.Total += delay
	}
	s.Total = math.Round(s.Total*1e9) / 1e9 // removes rounding errors of the sum
	return s
}
