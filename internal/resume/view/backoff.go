package view

import (
	"time"

	"resumed/internal/resume"
)

// mostWaits bounds how many waits are told of a policy that goes on for long.
const mostWaits = 60

// Backoff is how long is waited before each resume of a session, as other programs see it.
type Backoff struct {
	Policy string     `json:"policy"`           // in words
	Waits  []Wait     `json:"waits"`            // never null; the first ones of very many
	Next   int        `json:"next"`             // which of them is, or would be, waited out now
	Stated *time.Time `json:"stated,omitempty"` // the provider has named a time: that is waited for instead
}

// Wait is the wait before one resume.
type Wait struct {
	Attempt     int     `json:"attempt"`
	BaseSeconds float64 `json:"base_seconds"`
	MinSeconds  float64 `json:"min_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
}

// BackoffOf returns how long the policy in force has a session wait.
func BackoffOf(r resume.Rules, s resume.Session) Backoff {
	policy := r.PolicyOf(s)
	view := Backoff{Policy: policy.String(), Waits: []Wait{}, Next: s.Tries() + 1}
	if at, stated := s.Stated(r); stated && s.State == resume.Waiting {
		view.Stated = viewTime(at)
	}
	for n := range policy.Delays(func() float64 { return 0 }) {
		base, least, most := policy.Range(n)
		view.Waits = append(view.Waits, Wait{n, base.Seconds(), least.Seconds(), most.Seconds()})
		if n == mostWaits {
			break
		}
	}
	return view
}
