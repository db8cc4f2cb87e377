package view

import (
	"time"

	"resumed/internal/resume"
)

// mostWaits bounds how many waits of a long policy are shown.
const mostWaits = 60

// Backoff is the waits before the resumes of a session, as other programs see them.
type Backoff struct {
	Policy string     `json:"policy"`           // for people
	Waits  []Wait     `json:"waits"`            // never null; the first ones, at most mostWaits
	Next   int        `json:"next"`             // the current or next one of them
	Stated *time.Time `json:"stated,omitempty"` // the provider has named a time: the session waits for that instead
}

// Wait is the wait before one resume.
type Wait struct {
	Attempt     int     `json:"attempt"`
	BaseSeconds float64 `json:"base_seconds"`
	MinSeconds  float64 `json:"min_seconds"`
	MaxSeconds  float64 `json:"max_seconds"`
}

// BackoffOf returns the waits of a session by its current policy.
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
