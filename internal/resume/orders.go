package resume

import (
	"fmt"
	"time"

	"resumed/internal/limit"
)

func who(machine string) string {
	if machine == "" {
		return "you"
	}
	return "machine " + machine
}

func (s Session) retried(by string, r Rules, now time.Time) Session {
	if !s.State.CanRetry() || s.Asks != "" || !s.SilentAt.IsZero() { // or it is open in its terminal, and waits for its user there
		return s
	}
	if why := r.Excluded(s.Cwd); why != "" {
		s.Reason = why // an excluded directory counts more than the order
		return s
	}
	waits := s.Needs == StartUnseen && s.Limit.Reset.At.After(now) // only the person's word was missing
	switch {
	case by != "": // only its own user can say so
	case s.Needs == StartUnseen:
		offered := s.Offered
		s.Allowed = &Word{For: &offered}
	case s.Allowed == nil && !s.StartedWith().Seen():
		s.Allowed = new(Word)
	}
	s = s.archived()
	s.Paid, s.Windows, s.Reported = nil, 0, false
	s.NotBefore, s.MissedAt, s.ClosedAt = time.Time{}, time.Time{}, time.Time{}
	s.RetryAskedAt, s.WaitFrom, s.StoppedAt, s.GivesUpAt = now, now, now, time.Time{}
	if waits {
		s.RetryAskedAt = time.Time{}
		return s.schedule(r, now)
	}
	s.State, s.NextAt = Waiting, r.allowed(now, now)
	s.Reason = "due now, asked for by " + who(by)
	return s
}

// Early reports whether a retry now would come before the time that the provider named.
func (s Session) Early(now time.Time) bool {
	return s.State.CanRetry() && !s.Pending() && s.Needs != StartUnseen && s.Limit.Reset.At.After(now) // such a one waits after a retry too
}

func (s Session) expired(now time.Time) Session {
	ended, over := map[State]string{GaveUp: "gave up", Parked: "was parked"}[s.State]
	if !over {
		return s
	}
	return s.rest(now, "forgotten: it "+ended+" longer ago than history.ended_keep")
}

// ownKey is the provider in the account of a session that uses its user's own key: a limit there says
// nothing about the session's own account.
const ownKey = "your own key"

// WhyNotOwnKey says why the session cannot continue with its user's own key; empty: the session itself
// does not prevent it.
func (s Session) WhyNotOwnKey(now time.Time) string {
	switch {
	case !s.State.CanRetry() || s.Pending():
		return "it is not stopped"
	case s.Limit.Class != limit.UsageLimit:
		return "only a session that a usage limit stopped can continue with your own key, and this one was stopped by " + describe(s.Limit, "")
	case !s.Limit.Reset.Stated():
		return "it is not known when its limit is over, and your own key would be used until then"
	case !s.Limit.Reset.At.After(now):
		return "its limit is over: it continues with its account"
	case s.Run != nil:
		return "the command of an earlier resume still runs"
	default:
		return ""
	}
}

func (s Session) pay(r Rules, now time.Time) Session {
	if s.WhyNotOwnKey(now) != "" || r.Excluded(s.Cwd) != "" {
		return s
	}
	paid := &Paid{AskedAt: now, Until: s.Limit.Reset.At, Limit: s.Limit, LimitText: s.LimitText}
	s = s.retried("", r, now)
	s.Paid = paid
	s.Reason = fmt.Sprintf("due now, with your own key as you asked; from %s on with its account again", paid.Until.UTC().Format(time.RFC3339))
	return s
}

// keyRefused reports whether a refusal says that the key cannot help either: a later try would fail
// again.
func (s Session) keyRefused(ev Limited) bool {
	return s.Paid != nil && (ev.Class == limit.UsageLimit || ev.Class == limit.Auth || ev.Class == limit.Billing)
}

// withoutExpiredPayment returns the session to its account if the time of its own key is over.
func (s Session) withoutExpiredPayment(at time.Time) Session {
	if s.Paid != nil && !at.Before(s.Paid.Until) {
		s.Paid = nil
	}
	return s
}
