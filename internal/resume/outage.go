package resume

import (
	"fmt"
	"time"

	"resumed/internal/backoff"
)

// PolicyOf returns the policy that is in force for what stopped the session.
func (r Rules) PolicyOf(s Session) backoff.Policy {
	return r.learned(r.Policy(s.Key.Agent, s.Limit.Class), s)
}

// stoppedAt returns when the session was stopped first. A daemon of before did not
// keep that.
func (s Session) stoppedAt() time.Time {
	if s.StoppedAt.IsZero() {
		return s.LimitedAt
	}
	return s.StoppedAt
}

// ridesOut notes until when a session is tried that a time ends and no number of
// tries. When it was tried as often as anything else would have been, a person is
// told, once: it goes on by itself, but for how long?
func (s Session) ridesOut(policy backoff.Policy, r Rules) Session {
	s.GivesUpAt = time.Time{}
	if policy.MaxElapsed == 0 {
		return s
	}
	s.GivesUpAt = ahead(s.stoppedAt().Add(policy.MaxElapsed))
	if n := s.Tries(); r.Backoff.MaxRetries > 0 && n >= r.Backoff.MaxRetries {
		s.Told = true
		s.Reason = s.cause(fmt.Sprintf("still tried after %d %s, until %s", n, plural(n, "resume"), s.GivesUpAt.UTC().Format(time.RFC3339)))
	}
	return s
}
