package resume

import (
	"cmp"
	"fmt"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

// wait begins a wait at from, or says why there is none.
func (s Session) wait(r Rules, from, now time.Time, u float64) Session {
	s.WaitFrom, s.Jitter = from, u
	return s.schedule(r, now)
}

// schedule computes NextAt from what is known, so that it can be called again
// whenever the rules change.
func (s Session) schedule(r Rules, now time.Time) Session {
	if s.Pending() {
		return s.scheduleTask(r, now)
	}
	if why := r.Excluded(s.Cwd); why != "" {
		return s.rest(now, why)
	}
	if why := s.hopeless(r, now); why != "" {
		return s.park(why)
	}
	policy := r.PolicyOf(s)
	if policy.Spent(s.Tries(), s.WaitFrom.Sub(s.stoppedAt())) {
		if s.Paid != nil {
			return s.unpaid(fmt.Sprintf("%d resumes with your own key did not help", s.Tries()), r, now)
		}
		return s.giveUp()
	}

	s.State, s.Reason = Waiting, s.cause("")
	s = s.untilElapsed(policy, r)
	at, stated := s.Stated(r)
	switch {
	case !s.RetryAskedAt.IsZero():
		at = s.RetryAskedAt
	case !stated:
		at = s.WaitFrom.Add(policy.Delay(s.Tries()+1, s.Jitter))
		if !s.GivesUpAt.IsZero() {
			at = earlier(at, later(s.WaitFrom, s.GivesUpAt)) // the last try is made when the time is up
		}
	}
	at = later(at, s.NotBefore)
	if why, until := r.Reserved(s, now); until.After(at) {
		at, s.Reason = until, join(why, s.Reason)
	}
	if r.NextAllowed != nil {
		at = r.NextAllowed(later(at, now))
	}
	s.NextAt = at
	return s
}

// scheduleAgain is schedule for what waits already. The reason stays if it is something else than
// the limit that the session still waits for.
func (s Session) scheduleAgain(r Rules, now time.Time) Session {
	why := s.Reason
	s = s.schedule(r, now)
	if s.State == Waiting && (s.NotBefore.After(now) && !s.NextAt.After(s.NotBefore) || !s.RetryAskedAt.IsZero()) {
		s.Reason = why
	}
	return s
}

// Stated returns the time the provider named, with the margin it needs. It
// does not count where it was over before the wait began and a resume has
// been tried since: then it has proved to be no help, and backoff rules.
func (s Session) Stated(r Rules) (time.Time, bool) {
	reset := s.Limit.Reset
	if !reset.Stated() || s.Paid != nil && s.Limit == s.Paid.Limit { // which is not what a key waits for
		return time.Time{}, false
	}
	at := reset.At
	if reset.Rough || s.Limit.Class == limit.UsageLimit {
		at = at.Add(r.Margin)
	}
	if len(s.Attempts) > 0 && !at.After(s.WaitFrom) {
		return time.Time{}, false
	}
	return at, true
}

// hopeless says why waiting does not help, or "".
func (s Session) hopeless(r Rules, now time.Time) string {
	switch reset := s.Limit.Reset; {
	case s.Limit.Class == limit.None && len(s.Attempts) == 0:
		return "" // it waits on a person's order alone
	case s.Limit.Class == limit.None:
		return join(s.last().Err, "the resume that you asked for did not help")
	case !s.Limit.Class.Transient() || !s.Limit.WaitHelps:
		return s.cause("waiting does not help")
	case s.left(r):
		return s.leftWhy()
	case r.MaxWait > 0 && s.Paid == nil && reset.Stated() && reset.At.Sub(now) > r.MaxWait:
		return fmt.Sprintf("the limit resets at %s, further away than resume.max_wait (%s); %s tries anyway",
			reset.At.UTC().Format(time.RFC3339), backoff.FormatDuration(r.MaxWait), s.retry())
	case r.MaxWindows > 0 && s.Windows > r.MaxWindows:
		return fmt.Sprintf("passed %d usage limits without a prompt from you (resume.max_windows is %d); %s continues it",
			s.Windows, r.MaxWindows, s.retry())
	default:
		return ""
	}
}

// giveUp ends the tries: only a person, or the session itself, continues it.
func (s Session) giveUp() Session {
	s.State, s.NextAt, s.GivesUpAt = GaveUp, time.Time{}, time.Time{}
	s.Reason = s.cause(fmt.Sprintf("gave up after %d %s without progress", s.Tries(), plural(s.Tries(), "resume")))
	return s
}

// stoppedAt returns when the session was stopped first.
func (s Session) stoppedAt() time.Time { return cmp.Or(s.StoppedAt, s.LimitedAt) }

// untilElapsed notes until when a session is tried whose tries are ended by a time and not by their
// number. When it was tried as often as any other would have been, that is reported to a person,
// once: it continues by itself, but for how long?
func (s Session) untilElapsed(policy backoff.Policy, r Rules) Session {
	s.GivesUpAt = time.Time{}
	if policy.MaxElapsed == 0 {
		return s
	}
	s.GivesUpAt = ahead(s.stoppedAt().Add(policy.MaxElapsed))
	if n := s.Tries(); r.Backoff.MaxRetries > 0 && n >= r.Backoff.MaxRetries {
		s.Reported = true
		s.Reason = s.cause(fmt.Sprintf("still tried after %d %s, until %s", n, plural(n, "resume"), s.GivesUpAt.UTC().Format(time.RFC3339)))
	}
	return s
}

// PolicyOf returns the policy that is in force for what stopped the session. Recoveries change the
// built-in one alone: a person's own stays as it was written.
func (r Rules) PolicyOf(s Session) backoff.Policy {
	policy := r.Policy(s.Key.Agent, s.Limit.Class)
	builtIn, _ := backoff.Named("outage")
	if longest, ok := r.Recoveries.Cap(s.asked()); ok && policy == builtIn {
		policy.MaxDelay = longest
	}
	return policy
}

// left reports whether the session is left to its user, who has closed it. A retry that a person
// asks for is made all the same.
func (s Session) left(r Rules) bool {
	return r.Closed == LeaveClosed && !s.ClosedAt.IsZero() && s.RetryAskedAt.IsZero()
}

func (s Session) leftWhy() string {
	return "you closed it after it was stopped, so it is left to you (resume.closed): " + s.retry() + " continues it"
}

// scheduleTask computes when a task is due, from what is known.
func (s Session) scheduleTask(r Rules, now time.Time) Session {
	if why := r.Excluded(s.Cwd); why != "" {
		return s.park(why)
	}
	s.State, s.Reason = Waiting, "starts when there is room"
	at := later(s.WaitFrom, s.Task.NotBefore)
	if s.Task.After != "" {
		s.Reason = "begins after " + s.Task.After
	}
	if !s.RetryAskedAt.IsZero() {
		at, s.Reason = s.RetryAskedAt, "due now, asked for by you"
	}
	at = later(at, s.NotBefore)
	if r.NextAllowed != nil {
		at = r.NextAllowed(later(at, now))
	}
	s.NextAt = at
	return s
}

// unpaid ends that the session continues with a key: it waits for what it waited for before,
// and the reason is reported to a person.
func (s Session) unpaid(why string, r Rules, now time.Time) Session {
	paid := *s.Paid
	s = s.archived()
	if !s.Interrupted() {
		s.LimitedAt, s.StoppedAt = now, now
	}
	s.Paid, s.RetryAskedAt, s.NotBefore, s.GivesUpAt = nil, time.Time{}, time.Time{}, time.Time{}
	s.Limit, s.LimitText, s.WaitFrom = paid.Limit, paid.LimitText, now
	s = s.schedule(r, now)
	s.Reason, s.Reported = join(why, s.Reason), true
	return s
}
