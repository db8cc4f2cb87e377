package resume

import (
	"cmp"
	"fmt"
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
		// Only a person or new work in the session ends this state.
		s.State, s.NextAt, s.GivesUpAt = GaveUp, time.Time{}, time.Time{}
		s.Reason = s.cause(fmt.Sprintf("gave up after %d %s without progress", s.Tries(), plural(s.Tries(), "resume")))
		return s
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
			at = Earlier(at, Later(s.WaitFrom, s.GivesUpAt)) // the last try is made when the time is up
		}
	}
	at = Later(at, s.NotBefore)
	if why, until := r.Reserved(s, now); until.After(at) {
		at, s.Reason = until, join(why, s.Reason)
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
	if !reset.Stated() || s.Paid != nil && s.Limit == s.Paid.Limit { // with a key, the session does not wait for that reset
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

func (s Session) hopeless(r Rules, now time.Time) string {
	switch reset := s.Limit.Reset; {
	case s.Limit.Class == limit.None && len(s.Attempts) == 0:
		return "" // it waits only because a person asked
	case s.Limit.Class == limit.None:
		return join(s.last().Err, "the resume that you asked for did not help")
	case !s.Limit.Class.Transient() || !s.Limit.WaitHelps:
		return s.cause("waiting does not help")
	case s.left(r):
		return s.leftWhy()
	case r.MaxWait > 0 && s.Paid == nil && reset.Stated() && reset.At.Sub(now) > r.MaxWait:
		return fmt.Sprintf("the limit resets at %s, further away than resume.max_wait (%s); %s tries anyway",
			reset.At.UTC().Format(time.RFC3339), backoff.FormatDuration(r.MaxWait), s.retry())
	case r.MaxWindows > 0 && s.Windows > r.MaxWindows && s.Limit.Class == limit.CutOff:
		return fmt.Sprintf("was stopped %d times without a prompt from you (resume.max_windows is %d); %s continues it", s.Windows, r.MaxWindows, s.retry())
	case r.MaxWindows > 0 && s.Windows > r.MaxWindows:
		return fmt.Sprintf("passed %d usage limits without a prompt from you (resume.max_windows is %d); %s continues it",
			s.Windows, r.MaxWindows, s.retry())
	default:
		return ""
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
		s.Reported = true
		s.Reason = s.cause(fmt.Sprintf("still tried after %d %s, until %s", n, plural(n, "resume"), s.GivesUpAt.UTC().Format(time.RFC3339)))
	}
	return s
}

// PolicyOf returns the policy for what stopped the session. Recoveries change only the built-in outage
// policy: a policy of the user stays as it was written.
func (r Rules) PolicyOf(s Session) backoff.Policy {
	policy := r.Policy(s.Key.Agent, s.Limit.Class)
	builtIn, _ := backoff.Named("outage")
	if longest, ok := r.Recoveries.Cap(s.asked()); ok && policy == builtIn {
		policy.MaxDelay = longest
	}
	return policy
}

// left reports whether the session is left to its user, who has closed it. A retry that a person asks
// for is made all the same.
func (s Session) left(r Rules) bool {
	return r.Closed == LeaveClosed && !s.ClosedAt.IsZero() && s.RetryAskedAt.IsZero()
}

func (s Session) leftWhy() string {
	return "you closed it after it was stopped, so it is left to you (resume.closed): " + s.retry() + " continues it"
}

func (s Session) scheduleTask(r Rules, now time.Time) Session {
	if why := r.Excluded(s.Cwd); why != "" {
		return s.park(why)
	}
	s.State, s.Reason = Waiting, "starts when there is room"
	at := Later(s.WaitFrom, s.Task.NotBefore)
	if s.Task.After != "" {
		s.Reason = "begins after " + s.Task.After
	}
	if !s.RetryAskedAt.IsZero() {
		at, s.Reason = s.RetryAskedAt, "due now, asked for by you"
	}
	s.NextAt = r.allowed(Later(at, s.NotBefore), now)
	return s
}

// unpaid ends the use of the user's own key: the session waits for its limit again, and why is reported
// to a person.
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
