package backoff

import "math"

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

// NewSchedule returns the waits before so many retries, or fewer if the policy ends earlier. dice is
// the u of Delays.
func NewSchedule(policy Policy, retries int, dice func() float64) Schedule {
	s := Schedule{Version: 1, Policy: policy, Delays: make([]ScheduleDelay, 0, retries)}
	longer := policy
	longer.MaxRetries = retries
	for n, delay := range longer.Delays(dice) {
		if policy.MaxElapsed > 0 && s.Total >= policy.MaxElapsed.Seconds() {
			break
		}
		base, least, greatest := policy.Range(n)
		s.Delays = append(s.Delays, ScheduleDelay{n, base.Seconds(), least.Seconds(), greatest.Seconds(), delay.Seconds()})
		s.Total += delay.Seconds()
	}
	s.Total = math.Round(s.Total*1e9) / 1e9 // removes rounding errors of the sum
	return s
}
