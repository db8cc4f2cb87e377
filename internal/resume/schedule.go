package resume

import (
	"cmp"
	"slices"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

func (s Session) wait(r Rules, from, now time.Time, u float64) Session {
	s.WaitFrom, s.Jitter = from, u
	return s.schedule(r, now)
}

// schedule computes NextAt from stored values only, so that it can be called again when the rules
// change.
func (s Session) schedule(r Rules, now time.Time) Session {
	if s.Pending() {
		return s.scheduleTask(r, now)
	}
	if why := r.Excluded(s.Cwd); why.Kind != "" {
		return s.rest(now, why)
	}
	if why := s.hopeless(r, now); why.Kind != "" && s.RetryAskedAt.IsZero() { // a person's order is carried out first
		return s.park(why)
	}
	policy := r.PolicyOf(s).Policy
	if policy.Spent(s.Tries(), s.WaitFrom.Sub(s.stoppedAt())) {
		// Only a person or new work in the session ends this state.
		s.State, s.NextAt, s.GivesUpAt = GaveUp, time.Time{}, time.Time{}
		s.Reason = Reason{Kind: WhyGaveUp, N: int64(s.Tries())}
		return s
	}

	s.State, s.Reason = Waiting, Because(WhyStopped)
	s = s.untilElapsed(policy, r)
	at, stated := s.Stated(r)
	switch {
	case !s.RetryAskedAt.IsZero():
		at = s.RetryAskedAt
	case !stated:
		at = s.WaitFrom.Add(policy.Delay(s.Tries()+1, s.Jitter))
		if !s.GivesUpAt.IsZero() {
			at = Earlier(at, Later(s.WaitFrom, s.GivesUpAt)) // the last try is made when the time is up
		}
	}
	at = Later(at, s.NotBefore)
	if why, until := r.ReservedBy(s.Usage, s, now); until.After(at) {
		at, s.Reason, s.Blocked = until, why, nil // it is not due before
	}
	s.NextAt = r.allowed(at, now)
	return s
}

// scheduleAgain is schedule for a session that waits already. It leaves the reason if that is not the
// limit but something that still holds.
func (s Session) scheduleAgain(r Rules, now time.Time) Session {
	why := s.Reason
	s = s.schedule(r, now)
	if s.State == Waiting && (s.NotBefore.After(now) && !s.NextAt.After(s.NotBefore) || !s.RetryAskedAt.IsZero()) {
		s.Reason = why
	}
	return s
}

// Stated returns the time that the provider named, with the margin. That time is ignored if it was over
// before the wait began and a resume has been tried since: it did not help, so the backoff decides.
func (s Session) Stated(r Rules) (time.Time, bool) {
	reset := s.Limit.Reset
	if !reset.Stated() {
		return time.Time{}, false
	}
	at := Earlier(reset.At, cmp.Or(s.LiftedAt, reset.At))
	if reset.Rough || s.Limit.Class == limit.UsageLimit {
		at = at.Add(r.Margin)
	}
	if len(s.Attempts) > 0 && !at.After(s.WaitFrom) {
		return time.Time{}, false
	}
	return at, true
}

func (s Session) hopeless(r Rules, now time.Time) Reason {
	switch reset := s.Limit.Reset; {
	case s.Limit.Class == limit.None && len(s.Attempts) == 0:
		return Reason{} // it waits only because a person asked
	case s.Limit.Class == limit.None:
		return inWordsOf(WhyRetryFailed, s.Last().Err)
	case !s.Limit.Class.Transient() || !s.Limit.WaitHelps:
		return Because(WhyNoWaitHelps)
	case s.AtWord != "":
		return inWordsOf(WhyUntried, s.AtWord)
	case s.closedByUser(r):
		return Because(WhyClosed)
	case r.MaxWait > 0 && reset.Stated() && reset.At.Sub(now) > r.MaxWait:
		return Reason{Kind: WhyMaxWait, At: stored(reset.At), Text: backoff.FormatDuration(r.MaxWait)}
	case r.MaxWindows > 0 && s.CutOffs > r.MaxWindows:
		return Reason{Kind: WhyMaxCutOffs, N: int64(r.MaxWindows)}
	case r.MaxWindows > 0 && s.Windows > r.MaxWindows:
		return Reason{Kind: WhyMaxWindows, N: int64(r.MaxWindows)}
	default:
		return Reason{}
	}
}

func (s Session) stoppedAt() time.Time { return cmp.Or(s.StoppedAt, s.LimitedAt) }

// untilElapsed sets GivesUpAt if the policy ends the tries by time and not by number. After MaxRetries
// of the default policy it reports to a person, once, that the tries continue and until when.
func (s Session) untilElapsed(policy backoff.Policy, r Rules) Session {
	s.GivesUpAt = time.Time{}
	if policy.MaxElapsed == 0 {
		return s
	}
	s.GivesUpAt = ahead(s.stoppedAt().Add(policy.MaxElapsed))
	if n := s.Tries(); r.Backoff.MaxRetries > 0 && n >= r.Backoff.MaxRetries {
		s.Reported, s.Reason = true, Reason{Kind: WhyStillTried, N: int64(n), At: stored(s.GivesUpAt)}
	}
	return s
}

// closedByUser reports whether the session is left to its user, who has closed it.
func (s Session) closedByUser(r Rules) bool { return r.Closed == LeaveClosed && !s.ClosedAt.IsZero() }

func (s Session) scheduleTask(r Rules, now time.Time) Session {
	if why := r.Excluded(s.Cwd); why.Kind != "" {
		return s.park(why)
	}
	s.State, s.Reason = Waiting, Because(WhyTaskWaits)
	at := Later(s.WaitFrom, s.Task.NotBefore)
	if s.Task.After != "" {
		s.Reason = inWordsOf(WhyTaskAfter, s.Task.After)
	}
	if !s.RetryAskedAt.IsZero() {
		at, s.Reason = s.RetryAskedAt, Because(WhyAskedFor)
	}
	s.NextAt = r.allowed(Later(at, s.NotBefore), now)
	return s
}

// Latest returns when something last happened to the session.
func (s Session) Latest() time.Time {
	happened := []time.Time{s.LimitedAt, s.MovedAt, s.BornAt, s.FoundAt, s.RecoveredAt, s.WaitFrom, s.RetryAskedAt, s.LastStart()}
	return slices.MaxFunc(happened, time.Time.Compare)
}

// counted corrects a reset that was stated as a duration, if the record's time is later than now: the
// duration then counts from now.
func counted(reset limit.Reset, said, now time.Time) limit.Reset {
	if reset.Counted && !said.IsZero() {
		reset.At = reset.At.Add(-max(0, said.Sub(now)))
	}
	return reset
}

// rewound is the session after the clock was set back. A stated reset comes from the provider's clock
// and stays, unless it was computed from our clock. NotBefore is dropped and the wait computed again.
func (s Session) rewound(r Rules, now time.Time) Session {
	s.Limit.Reset = counted(s.Limit.Reset, s.LimitedAt, now)
	s.Attempts, s.Past, s.Cut = slices.Clone(s.Attempts), slices.Clone(s.Past), slices.Clone(s.Cut)
	if s.Origin != nil {
		s.Origin = new(*s.Origin)
	}
	resumed, unseen := Later(s.LastResume(), s.RecoveredAt).After(s.PromptedAt), s.StartedWith() == nil
	for _, t := range s.happened() {
		*t = Earlier(*t, now)
	}
	if resumed { // the prompt stays before that, and the last look at the process before the prompt
		s.PromptedAt = Earlier(s.PromptedAt, now.Add(-1))
	}
	if unseen && s.Origin != nil {
		s.Origin.SeenAt = Earlier(s.Origin.SeenAt, s.PromptedAt.Add(-1))
	}
	s.NotBefore = time.Time{}
	return s.reconsidered(r, now)
}

// IsAhead reports whether something is stored as having happened to the session after now.
func (s Session) IsAhead(now time.Time) bool {
	for _, t := range s.happened() {
		if t.After(now) {
			return true
		}
	}
	return false
}

// happened returns every stored time at which something happened by our clock.
func (s *Session) happened() []*time.Time {
	times := []*time.Time{
		&s.LimitedAt, &s.StoppedAt, &s.InterruptedAt, &s.LiftedAt, &s.MovedAt, &s.PromptedAt, &s.BornAt, &s.FoundAt, &s.RecoveredAt, &s.WaitFrom, &s.RetryAskedAt,
		&s.Usage.At, &s.Context.At,
	}
	if s.Origin != nil {
		times = append(times, &s.Origin.SeenAt, &s.Origin.GoneAt)
	}
	for _, attempts := range [][]Attempt{s.Attempts, s.Past, s.Cut} {
		for i := range attempts {
			times = append(times, &attempts[i].StartedAt, &attempts[i].EndedAt)
		}
	}
	return times
}

// Missed reports whether the session would have been resumed long ago if a daemon had run since then. A
// session that was due and waited while the daemon ran has missed nothing.
func (s Session) Missed(since time.Time, r Rules, now time.Time) bool {
	if r.Overdue == 0 || s.NeedsPerson() || !s.RetryAskedAt.IsZero() {
		return false
	}
	return now.Sub(Later(s.dueAt(), since)) > r.Overdue
}

// dueAt returns when the wait of the session ends or ended, or when the resume that is being sent
// began.
func (s Session) dueAt() time.Time { return cmp.Or(s.NextAt, s.LastStart()) }

// late sets MissedAt if the refusal is read so late that no daemon can have run at its time.
func (s Session) late(r Rules, now time.Time) Session {
	s.MissedAt = time.Time{}
	if at := Later(s.LimitedAt, s.Limit.Reset.At); s.State == Waiting && s.RetryAskedAt.IsZero() && r.Overdue > 0 && now.Sub(at) > r.Overdue {
		s.MissedAt = at
	}
	return s
}

// Overdue returns why the session waits for a person's answer before it is resumed; zero: it does not.
func (s Session) Overdue() Reason {
	if s.MissedAt.IsZero() {
		return Reason{}
	}
	return Reason{Kind: WhyOverdue, At: stored(s.MissedAt)}
}

func (s Session) reconsidered(r Rules, now time.Time) Session {
	if r.Overdue == 0 {
		s.MissedAt = time.Time{}
	}
	switch s.State {
	case Settling:
		s.NextAt = s.WaitFrom.Add(r.Settle)
	case Waiting:
		return s.scheduleAgain(r, now)
	case Parked:
		if s.Reason.Kind == WhyClosed && !s.closedByUser(r) { // earlier rules left it to its user
			return s.schedule(r, now)
		}
	default:
	}
	return s
}
