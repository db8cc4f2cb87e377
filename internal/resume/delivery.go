package resume

import (
	"slices"
	"time"

	"resumed/internal/backoff"
)

// maxAttempts bounds how many resumes of one interruption are stored. The N of the last one counts all.
const maxAttempts = 100

// maxCut bounds how many resumes are stored that were cut off by the end of a daemon.
const maxCut = 20

func (s Session) due(ev Due, r Rules, now time.Time, u float64) Session {
	if s.Deadline().IsZero() || now.Before(s.NextAt) {
		return s
	}
	if s.State == Settling {
		s = s.conclude(NoProgress, "its transcript showed no new work within "+backoff.FormatDuration(r.Settle), now)
		return s.wait(r, now, now, u)
	}
	if why := r.TooCold(s, now); why.Kind != "" {
		return s.park(why)
	}
	s.Runs++
	s.Run = &Run{Mark: ev.Mark, N: s.Runs, Begins: s.Pending()}
	if s.Reason = Because(WhyStopped); s.Pending() { // the reason for holding it back is over
		s.Reason = Reason{Kind: WhyTaskStarting, N: int64(s.Task.N)}
	}
	s.Attempts = append(slices.Clone(s.Attempts[max(0, len(s.Attempts)-maxAttempts+1):]), Attempt{
		N:         s.Tries() + 1,
		Mark:      ev.Mark,
		StartedAt: now,
		Delay:     max(0, s.NextAt.Sub(s.WaitFrom)),
	})
	s.State, s.NextAt, s.NotBefore = Resuming, time.Time{}, time.Time{}
	return s
}

func (s Session) started(ev Started) Session {
	if !s.runs(ev.Mark) {
		return s
	}
	run := *s.Run
	run.Process, run.Unverifiable, run.sending = ev.Process, ev.Unverifiable, true
	if ev.Unverifiable {
		run.Behind = s.Seen
	}
	s.Run, s.Owner, s.Unreached = &run, nil, ""
	if s.State == Resuming && !ev.Unverifiable { // otherwise it is adopted and a person may have asked for the next, or the prompt may still be refused
		s.RetryAskedAt = time.Time{}
	}
	return s
}

func (s Session) ended(ev Ended, r Rules, now time.Time, u float64) Session {
	if !s.runs(ev.Mark) {
		return s
	}
	s.Run = nil
	if ev.Outcome == Denied {
		return s.denied(ev, now)
	}
	if s.State != Resuming {
		return s // the transcript has shown the result, and a person may have asked for the next resume
	}
	s.RetryAskedAt = time.Time{}
	if ev.Outcome == Delivered {
		return s.settle(r.Settle, now)
	}
	s = s.conclude(ev.Outcome, ev.Err, now)
	if ev.Outcome == Unknown { // it may have been sent: never send it twice
		return s.park(inWordsOf(WhyUnknownOutcome, ev.Err))
	}
	return s.wait(r, now, now, u)
}

func (s Session) notSent(ev NotSent, r Rules, now time.Time) Session {
	if !s.runs(ev.Mark) {
		return s
	}
	s = s.withdraw()
	s.Owner, s.Unreached = ev.Owner, ""
	switch ev.Then {
	case UserSwitched:
		return s.released(Released{Cleared: true}, r, now)
	case Park:
		s.Offered = &ev.Offers
		if ev.Owner != nil {
			s.Unreached = ev.Why
		}
		return s.park(ev.Reason())
	case ParkUnseen:
		return s.parkForWord(ev.Why, ev.Shows, ev.Offers)
	case Tell:
		s.Reported = true
	case TellUnreached:
		s.Reported, s.Unreached = true, ev.Why
	case UserClosed:
		s.ClosedAt = now
	case NeedsOrder:
		s.RetryAskedAt = time.Time{}
	case TryAgain, KeepForPeople:
	}
	if s = s.schedule(r, now); ev.Then == KeepForPeople && s.NextAt.After(now) {
		return s // the rules decide until when, and they may change
	}
	s.NotBefore = Later(ev.Until, now.Add(recheck))
	s = s.schedule(r, now)
	if s.State == Waiting {
		s.Reason = ev.Reason()
	}
	return s
}

func (s Session) lost(ev Lost, r Rules, now time.Time) Session {
	if !s.runs(ev.Mark) {
		return s
	}
	if s.State != Resuming {
		s.Run = nil
		return s
	}
	if cut := s.Last(); cut.Mark == ev.Mark {
		cut.Outcome, cut.EndedAt = DaemonStopped, now
		s.Cut = append(slices.Clone(s.Cut[max(0, len(s.Cut)-maxCut+1):]), cut)
	}
	return s.withdraw().schedule(r, now)
}

func (s Session) recalled(r Rules, now time.Time) Session {
	if s.State != Resuming || s.Run == nil || s.Run.sent() {
		return s
	}
	return s.withdraw().schedule(r, now)
}

// withdraw removes a resume that had no effect: it does not count as a try.
func (s Session) withdraw() Session {
	if s.runs(s.Last().Mark) {
		s.Attempts = slices.Clone(s.Attempts[:len(s.Attempts)-1])
	}
	s.Run = nil
	return s
}
