package resume

import (
	"cmp"
	"time"

	"resumed/internal/limit"
)

// Next returns the session after ev. It has no clock, no randomness and no side effects: the engine
// acts when a session enters Resuming, and reports to a person when it enters GaveUp or Parked. u is a
// random number in [0, 1).
func (s Session) Next(ev Event, r Rules, now time.Time, u float64) Session {
	if s.State == 0 {
		s.State = Watching
	}
	after := s.next(ev, r, now, u).withNotice(s)
	if _, still := ev.(HeldBack); !still && after.Reason != s.Reason {
		after.Blocked = nil
	}
	if after.State != Parked {
		after.Needs = ""
	}
	if after.Interrupted() {
		after.Undo = nil
	}
	return after
}

func (s Session) next(ev Event, r Rules, now time.Time, u float64) Session {
	if s.Pending() {
		after, done := s.pending(ev, r, now)
		if done {
			return after
		}
		s = after
	}
	switch ev.(type) {
	case Limited, Progressed, Prompted, Cancelled:
		s = s.answered(now).endSilence(now) // it could not, without an answer
	}
	switch ev := ev.(type) {
	case Limited:
		return s.limited(ev, r, now, u)
	case Progressed:
		return s.progressed(ev, now)
	case Prompted:
		return s.prompted(ev, now)
	case Cancelled:
		return s.rest(now, Because(WhyStoppedByUser))
	case Due:
		return s.due(ev, r, now, u)
	case HeldBack:
		s.Reason, s.Blocked = ev.Why, &Blocked{Until: ev.Until}
	case Postponed:
		if s.State == Waiting && s.RetryAskedAt.IsZero() {
			was := s.Limit.Reset.At
			s.Limit.Reset, s.LiftedAt = ev.Reset, time.Time{}
			if s = s.schedule(r, now); s.State == Waiting && ev.Reset.At.Before(was) {
				s.Reason = Reason{Kind: WhyResetEarlier, At: stored(was)}
			}
		}
	case Refused:
		if s.State == Waiting && s.Run == nil {
			s.Limit, s.LimitText, s.RetryAskedAt = ev.Verdict, ev.Text, time.Time{}
			return s.schedule(r, now)
		}
	case Lifted:
		return s.lifted(ev, r, now)
	case Superseded:
		if s.State == Waiting {
			return s.park(Reason{Kind: WhySuperseded, By: ev.By.ID})
		}
	case Joined:
		if s.Interrupted() {
			s.Newcomer = &ev.Newcomer
		}
	case Sending:
		if s.runs(ev.Mark) {
			s.NotRepeated = ev.NotRepeated
			return s.models(ev.Models).Restore()
		}
	case Started:
		return s.started(ev)
	case Ended:
		return s.ended(ev, r, now, u)
	case Recalled:
		return s.recalled(r, now)
	case NotSent:
		return s.notSent(ev, r, now)
	case Lost:
		return s.lost(ev, r, now)
	case Learned:
		return s.learned(ev, r, now)
	case ProcessUnknown:
		if s.State == Waiting && s.Run == nil && (ev.Shows != "" || s.Allowed == nil && !s.StartedWith().Seen()) {
			return s.parkForWord(ev.Why, ev.Shows, ev.Offers)
		}
	case Occupied:
		return s.occupied(ev)
	case Asked:
		return s.endSilence(now).asks(ev, now)
	case Answered:
		return s.endSilence(now).answered(now)
	case Died:
		return s.died(ev, r, now, u)
	case Silent:
		return s.silent(ev, r, now)
	case Released:
		return s.released(ev, r, now)
	case Retry:
		return s.retried(ev, r, now)
	case Forget:
		if s = s.withoutSubagents(Reason{Kind: WhyCancelled, By: ev.By}); !s.Interrupted() {
			return s
		}
		return s.cancelled(ev.By, now)
	case Pause:
		s.Paused = true
		return s.recalled(r, now)
	case Unpause:
		s.Paused = false
	case Reconsider:
		return s.reconsidered(r, now)
	case Rewound:
		return s.rewound(r, now)
	case Renamed, SubagentEnded: // the event brought the new path, or only asks for a lookup
	case Slept:
		if s.State == Settling {
			s.WaitFrom = Earlier(s.WaitFrom.Add(ev.For), now)
			s.NextAt = s.WaitFrom.Add(r.Settle)
		}
	case CameBack:
		if s.Missed(ev.Since, r, now) {
			s.MissedAt = s.dueAt()
		}
	case Expired:
		return s.expired(now)
	case Relisted:
		if s.Task != nil && ev.Place != 0 {
			return s.WithTask(func(t *Task) { t.Place = ev.Place })
		}
		s.Task = nil
	case Enqueued, Became: // it is a session already
	}
	return s
}

func (s Session) limited(ev Limited, r Rules, now time.Time, u float64) Session {
	if ev.At.IsZero() || ev.At.After(now) { // a record from a clock that is ahead must not prolong the wait
		ev.Reset = counted(ev.Reset, ev.At, now)
		ev.At = now
	}
	old := s.Run.sent() && ev.At.Add(slack).Before(s.LastStart())
	switch {
	case ev.Class == limit.None || ev.InProgress:
		return s // nothing to do yet
	case ev.Class == limit.Cancelled:
		return s.rest(now, Because(WhyStoppedByUser))
	case r.stale(ev, s.FoundAt, now):
		s.Reason = Because(WhyTooOld)
		return s
	case old && s.State != Resuming:
		return s // the resume was sent after this refusal
	case s.Run != nil && !s.Run.sent():
		s = s.withdraw() // the refusal is newer than the resume that is about to be sent
	case s.State == Resuming && !old:
		s.RetryAskedAt = time.Time{} // the person's order was carried out, even if its start is not known yet
	}

	if ev.Class == limit.UsageLimit && (s.State == Watching || ev.Reset.At.Sub(s.Limit.Reset.At).Abs() > SameWindow) {
		s.Windows++
	}
	if old { // or the daemon before never sent it: then the session waits for this limit
		s.Limit, s.LimitText, s.AtWord = ev.Verdict, ev.Text, ev.AtWord
		return s
	}
	// A repeated refusal while the session waits does not begin a new wait, which would never end.
	repeated := s.State == Waiting && s.Run == nil
	if !s.Interrupted() {
		s.StoppedAt, s.InterruptedAt, s.Reported = ev.At, ev.At, false
	}
	s = s.conclude(LimitedOut, ev.Text, now)
	s.Limit, s.LimitText, s.AtWord, s.LimitedAt, s.LiftedAt, s.StoppedBefore = ev.Verdict, ev.Text, ev.AtWord, ev.At, time.Time{}, nil
	if ev.Context.Tokens > 0 && r.OnCold != TellCold { // TellCold reports it in a step of its own
		s.Context = ev.Context
		s.Context.At = Earlier(s.Context.At, now)
	}
	switch {
	case s.State == GaveUp:
		return s // only new work or a person changes that
	case repeated && !s.RetryAskedAt.IsZero():
		return s // the person's order still holds
	case repeated:
		return s.scheduleAgain(r, now).late(r, now)
	default:
		return s.wait(r, ev.At, now, u).late(r, now)
	}
}

// Outdates reports whether an observation from another file is older than what is known of the
// session: that file is an old copy, or repeats what was read before.
func (s Session) Outdates(seen Observation) bool {
	if seen.Pos.Epoch == s.Seen.Epoch {
		return false
	}
	at := When(seen.Event)
	_, stops := seen.Event.(Limited)
	switch {
	case at.IsZero():
		return false
	case at.Equal(s.LimitedAt):
		// The refusal that the session waits for shows where its file is now. But a copy in another
		// account does not move the session there.
		elsewhere := seen.Account != "" && seen.Account != s.Account
		return !stops || s.State == Watching || elsewhere
	default:
		return at.Before(Later(s.LimitedAt, s.MovedAt))
	}
}

func (s Session) progressed(ev Progressed, now time.Time) Session {
	s.Model, s.StoppedBefore, s.Undo = cmp.Or(ev.Model, s.Model), nil, nil
	s.MovedAt = Earlier(ev.At, now) // a record from a clock that is ahead must not make later events look old
	if !s.Interrupted() || s.State == Parked && s.DeniedAt(ev.At) || s.cutAfter(ev.At) {
		return s // the work of the denied resume, which has ended, or of the process that was cut off
	}
	why := Because(WhyWentOn)
	if n := s.Tries(); n > 0 {
		why = Reason{Kind: WhyWorksAgain, N: int64(n)}
	}
	s = s.models(s.Last().Models.switched(ev.Model))
	why.Text = s.Last().Models.UsedText()
	s = s.conclude(Recovered, "", now).rest(now, why)
	s.WorksAlone = true
	return s
}

func (s Session) prompted(ev Prompted, now time.Time) Session {
	if s.Run != nil || s.State == Settling || s.Last().during(ev.At) {
		return s // it may come from our own resume
	}
	s.PromptedAt, s.Undo = Later(s.PromptedAt, Earlier(ev.At, now)), nil
	s.WorksAlone = s.WorksAlone && s.PromptedAt.Before(s.RecoveredAt)
	s = s.withoutSubagents(Reason{Kind: WhyContinued, By: ev.By})
	if ev.By == "" {
		s.Windows, s.CutOffs = 0, 0
	}
	if !s.Interrupted() || s.cutAfter(ev.At) {
		return s
	}
	s.StoppedBefore = new(s.Limit)
	return s.rest(now, Reason{Kind: WhyContinued, By: ev.By})
}
