package resume

import (
	"time"
)

func who(machine string) string {
	if machine == "" {
		return "you"
	}
	return "machine " + machine
}

// cancelled ends the interruption by a person's order. It is stored, so that they can change their mind.
func (s Session) cancelled(by string, now time.Time) Session {
	if s.Run != nil && !s.Run.sent() {
		s = s.withdraw()
		s.State = Waiting
	}
	interruption := &Undo{s.State, s.Interruption}
	if s = s.rest(now, "cancelled by "+who(by)); interruption.Asks == "" && interruption.SilentAt.IsZero() { // otherwise nothing had stopped it
		s.Undo = interruption
	}
	return s
}

// uncancelled returns the session with the interruption that a person cancelled. What a resume did
// meanwhile may show yet.
func (s Session) uncancelled(r Rules, now time.Time) Session {
	if s.Undo == nil {
		return s
	}
	s.State, s.Interruption, s.Undo = s.Undo.State, s.Undo.Interruption, nil
	if s.Reason = s.cause(""); len(s.Attempts) > 0 {
		s.Past = nil // they are the same
	}
	if s.State == Settling || s.State == Resuming && s.Run == nil {
		s = s.settle(r.Settle, now)
	}
	return s
}

func (s Session) retried(ev Retry, r Rules, now time.Time) Session {
	before := s
	s = s.uncancelled(r, now)
	if !s.State.CanRetry() || s.Asks != "" || !s.SilentAt.IsZero() { // or it is open in its terminal, and waits for its user there
		return s
	}
	if why := r.Excluded(s.Cwd); why != "" {
		before.Reason = why // an excluded directory counts more than the order
		return before
	}
	waits := s.needsWord() || before.Undo != nil && s.State == Waiting && !ev.Now // only the person's word was missing
	waits = waits && s.Limit.Reset.At.After(now)
	if ev.By == "" { // only its own user can say so
		s = s.withWord()
	}
	s = s.archived()
	s.Windows, s.CutOffs, s.Reported = 0, 0, false
	s.NotBefore, s.MissedAt, s.ClosedAt = time.Time{}, time.Time{}, time.Time{}
	s.RetryAskedAt, s.WaitFrom, s.StoppedAt = now, now, now
	s = s.untilElapsed(r.PolicyOf(s).Policy, r)
	if waits {
		s.RetryAskedAt = time.Time{}
		return s.schedule(r, now)
	}
	s.State, s.NextAt = Waiting, r.allowed(now, now)
	s.Reason = "due now, asked for by " + who(ev.By)
	return s
}

// withWord records a person's word: it is for what they were shown.
func (s Session) withWord() Session {
	switch {
	case s.Needs == TrustNeeded:
		s.Trusted = s.Shows
	case s.Needs == StartUnseen:
		offered := s.Offered
		s.Allowed = &Word{For: &offered}
	case s.Allowed == nil && !s.StartedWith().Seen():
		s.Allowed = new(Word)
	}
	return s
}

// needsWord reports whether only a person's word is missing.
func (s Session) needsWord() bool { return s.Needs == StartUnseen || s.Needs == TrustNeeded }

// Early reports whether a retry now would come before the time that the provider named.
func (s Session) Early(now time.Time) bool {
	if s.Undo != nil && s.Undo.State != Waiting {
		s = s.uncancelled(Rules{}, now)
	}
	return s.State.CanRetry() && !s.Pending() && !s.needsWord() && s.Limit.Reset.At.After(now) // such a one waits after a retry too
}

func (s Session) expired(now time.Time) Session {
	ended, over := map[State]string{GaveUp: "gave up", Parked: "was parked"}[s.State]
	if !over {
		return s
	}
	return s.rest(now, "forgotten: it "+ended+" longer ago than history.ended_keep")
}
