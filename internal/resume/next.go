package resume

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"resumed/internal/limit"
)

// slack is how much a record's own time may run before our clock: file systems
// stamp with a coarse clock and some agents write whole seconds.
const slack = time.Second

// maxAttempts bounds how many resumes of one interruption are remembered. The
// number of the last one tells how many there were.
const maxAttempts = 100

// maxCut bounds how many resumes that ended with a daemon are remembered.
const maxCut = 20

// Next returns the session after ev. It has no clock, no randomness and no
// effects: entering Resuming is what makes the engine act, entering GaveUp or
// Parked is what makes it call a person. u is a random number in [0, 1).
func (s Session) Next(ev Event, r Rules, now time.Time, u float64) Session {
	if s.State == 0 {
		s.State = Watching
	}
	after := s.next(ev, r, now, u).called(s)
	if _, still := ev.(Queued); !still && after.Reason != s.Reason {
		after.Held = nil
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
	switch ev := ev.(type) {
	case Limited:
		return s.limited(ev, r, now, u)
	case Progressed:
		return s.progressed(ev, now)
	case Prompted:
		return s.prompted(ev, now)
	case Cancelled:
		s.Paid = nil
		return s.rest(now, "stopped by a person")
	case Due:
		return s.due(ev, r, now, u)
	case Queued:
		s.Reason, s.Held = ev.Why, &Held{Until: ev.Until}
		return s
	case Postponed:
		if s.State == Waiting && s.RetryAskedAt.IsZero() {
			s.Limit.Reset = ev.Reset
			s = s.schedule(r, now)
		}
		return s
	case Superseded:
		if s.State == Waiting {
			s.State, s.NextAt = Parked, time.Time{}
			s.Reason = s.SupersededBy(ev.By)
		}
		return s
	case Joined:
		if s.Interrupted() {
			s.Newcomer = &ev.Newcomer
		}
		return s
	case Sending:
		if s.Run != nil && s.Run.Mark == ev.Mark {
			s.LeftOut = ev.LeftOut
			return s.models(ev.Models).Restore()
		}
		return s
	case Started:
		return s.started(ev)
	case Ended:
		return s.ended(ev, r, now, u)
	case Recalled:
		return s.recalled(r, now)
	case NotSent:
		return s.held(ev, r, now)
	case Lost:
		return s.lost(ev, r, now)
	case Identified:
		return s.identified(ev)
	case Weighed:
		return s.weighed(ev, r)
	case Metered:
		return s.metered(ev, r, now)
	case Occupied:
		return s.occupied(ev)
	case Released:
		return s.released(ev, r, now)
	case Retry:
		return s.retried(ev.By, r, now)
	case Pay:
		return s.pay(r, now)
	case Priced:
		s.Cost = ev.Cost
		return s
	case Forget:
		if !s.Interrupted() {
			return s
		}
		s.Paid = nil
		return s.rest(now, "cancelled by "+who(ev.By))
	case Pause:
		s.Paused = true
		return s.recalled(r, now)
	case Unpause:
		s.Paused = false
		return s
	case Reconsider:
		return s.reconsidered(r, now)
	case Rewound:
		return s.rewound(r, now)
	case Renamed:
		return s // where it lies now came with the event
	case Slept:
		if s.State == Settling {
			s.WaitFrom = earlier(s.WaitFrom.Add(ev.For), now)
			s.NextAt = s.WaitFrom.Add(r.Settle)
		}
		return s
	case CameBack:
		if s.Missed(ev.Since, r, now) {
			s.MissedAt = s.dueAt()
		}
		return s
	case Expired:
		return s.expired(now)
	case Placed:
		if s.Task == nil {
			return s
		}
		return s.WithTask(func(t *Task) { t.Place = ev.Place })
	case Unlisted:
		s.Task = nil
		return s
	case Enqueued, Became:
		return s // it is a session already
	default:
		panic(fmt.Sprintf("resume: unknown event %T", ev))
	}
}

func (s Session) limited(ev Limited, r Rules, now time.Time, u float64) Session {
	if ev.At.IsZero() || ev.At.After(now) { // a clock that runs ahead must not prolong the wait
		ev.Reset = counted(ev.Reset, ev.At, now)
		ev.At = now
	}
	old := s.Run.sent() && ev.At.Add(slack).Before(s.LastStart())
	switch {
	case ev.Class == limit.None || ev.InProgress:
		return s // nothing is to be done yet
	case ev.Class == limit.Cancelled:
		return s.rest(now, "stopped by a person")
	case r.stale(ev, s.FoundAt, now):
		s.Reason = "its interruption was older than resume.lookback when it was first seen"
		return s
	case old && s.State != Resuming:
		return s // old news: the resume was sent after it
	case s.Run != nil && !s.Run.sent():
		s = s.withdraw() // newer news than the resume that is about to be sent
	case s.State == Resuming && !old:
		s.RetryAskedAt = time.Time{} // a person's order was carried out, also where its start is not known yet
	}

	if s = s.settled(ev.At); !old && s.overdrawn(ev) {
		return s.conclude(LimitedOut, ev.Text, now).unpaid("your own key was refused: "+describe(ev.Verdict, ev.Text), r, now)
	}
	if ev.Class == limit.UsageLimit && (s.State == Watching || ev.Reset.At.Sub(s.Limit.Reset.At).Abs() > SameWindow) {
		s.Windows++
	}
	if old { // or it never was, by the daemon before: then this is what it waits for
		s.Limit, s.LimitText = ev.Verdict, ev.Text
		return s
	}
	// An agent that repeats itself while it is waited for does not begin the
	// wait anew: it would never end.
	repeated := s.State == Waiting && s.Run == nil
	if !s.Interrupted() {
		s.StoppedAt = ev.At
	}
	s = s.conclude(LimitedOut, ev.Text, now)
	s.Limit, s.LimitText, s.LimitedAt = ev.Verdict, ev.Text, ev.At
	if ev.Context.Tokens > 0 && r.OnCold != TellCold { // which is another step, that people are told
		s.Context = ev.Context
	}
	switch {
	case s.State == GaveUp:
		return s // only movement or a person takes it out of there
	case repeated && !s.RetryAskedAt.IsZero():
		return s // a person's order stands
	case repeated:
		return s.scheduleAgain(r, now).late(r, now)
	default:
		return s.wait(r, ev.At, now, u).late(r, now)
	}
}

// Outlived reports whether the session has left behind what was read from
// another file than the one that told of it last: that one is a copy from
// before, or takes the place of what was read already.
func (s Session) Outlived(sight Observation) bool {
	if sight.Pos.Epoch == s.Seen.Epoch {
		return false
	}
	at := When(sight.Event)
	_, stops := sight.Event.(Limited)
	switch {
	case at.IsZero():
		return false
	case at.Equal(s.LimitedAt):
		// What it still waits for tells where its file lies now; but a copy in
		// another account does not move it there.
		elsewhere := sight.Account != "" && sight.Account != s.Account
		return !stops || s.State == Watching || elsewhere
	default:
		return at.Before(later(s.LimitedAt, s.MovedAt))
	}
}

func (s Session) giveUp(tries int) Session {
	s.State, s.NextAt, s.GivesUpAt = GaveUp, time.Time{}, time.Time{}
	s.Reason = s.cause(fmt.Sprintf("gave up after %d %s without progress", tries, plural(tries, "resume")))
	return s
}

func (s Session) progressed(ev Progressed, now time.Time) Session {
	s.MovedAt = earlier(ev.At, now) // a clock that runs ahead must not make what follows old news
	if !s.Interrupted() || s.State == Parked && s.DeniedAt(ev.At) {
		return s // by the run that was refused something: it has ended
	}
	why := WentOn
	if n := s.Tries(); n > 0 {
		why = fmt.Sprintf(WorksAgain+" after %d %s", n, plural(n, "resume"))
	}
	if last := s.last(); last != nil {
		s = s.models(last.Models.switched(ev.Model))
		if did := s.last().Models.Did(); did != "" {
			why += ", " + did
		}
		if s.last().OwnKey {
			why += ", with your own key"
		}
	}
	s = s.conclude(Recovered, "", now)
	return s.rest(now, why)
}

func (s Session) prompted(ev Prompted, now time.Time) Session {
	if s.ours(ev.At) {
		return s
	}
	s.PromptedAt = later(s.PromptedAt, earlier(ev.At, now))
	if ev.By == "" {
		s.Windows, s.Paid = 0, nil // a person goes on, with what they have
	}
	if !s.Interrupted() {
		return s
	}
	return s.rest(now, "continued by "+cmp.Or(ev.By, "a person"))
}

// ours reports whether what was written at that time may be the trace of our
// own resume.
func (s Session) ours(at time.Time) bool {
	if s.Run != nil || s.State == Settling {
		return true
	}
	last := s.last()
	return last != nil && !at.Before(last.StartedAt.Add(-slack)) && !at.After(last.EndedAt.Add(slack))
}

// rest ends the interruption: the session is its user's again.
func (s Session) rest(now time.Time, why string) Session {
	if s.Interrupted() {
		s.RecoveredAt = now
	}
	if len(s.Attempts) > 0 {
		s.Past = s.Attempts
	}
	if !s.Run.sent() {
		s.Run = nil // it is about to be sent, and need not be
	}
	s.State, s.Reason, s.Interruption = Watching, why, Interruption{}
	return s
}

func (s Session) due(ev Due, r Rules, now time.Time, u float64) Session {
	if s.Deadline().IsZero() || now.Before(s.NextAt) {
		return s
	}
	if s.State == Settling {
		s = s.conclude(NoProgress, "its transcript showed no new work within "+short(r.Settle), now)
		return s.wait(r, now, now, u)
	}
	if s.Paid != nil && s.settled(now).Paid == nil {
		s = s.settled(now)
		s.Reason = s.cause("")
		return s // it is due all the same, but with its account: others may go first there
	}
	if why := r.TooCold(s, now); why != "" {
		s.State, s.NextAt, s.Reason = Parked, time.Time{}, why
		return s
	}
	s.Runs++
	s.Run = &Run{Mark: ev.Mark, N: s.Runs, Begins: s.Pending()}
	if s.Reason = s.cause(""); s.Pending() { // what held it back until now does so no more
		s.Reason = fmt.Sprintf("task %d is being started", s.Task.N)
	}
	s.Attempts = append(slices.Clone(s.Attempts[max(0, len(s.Attempts)-maxAttempts+1):]), Attempt{
		N:         s.Tries() + 1,
		Mark:      ev.Mark,
		StartedAt: now,
		Delay:     max(0, s.NextAt.Sub(s.WaitFrom)),
		OwnKey:    s.Paid != nil,
	})
	s.State, s.NextAt, s.Hold = Resuming, time.Time{}, time.Time{}
	return s
}

func (s Session) started(ev Started) Session {
	if s.Run == nil || s.Run.Mark != ev.Mark {
		return s
	}
	run := *s.Run
	run.Process, run.Unverifiable, run.sending = ev.Process, ev.Unverifiable, true
	if ev.Unverifiable {
		run.Behind = s.Seen
	}
	s.Run, s.Owner, s.Unreached = &run, nil, ""
	if s.State == Resuming && !ev.Unverifiable { // else it is adopted and a person may have asked for the next, or may still be refused
		s.RetryAskedAt = time.Time{}
	}
	return s
}

func (s Session) ended(ev Ended, r Rules, now time.Time, u float64) Session {
	if s.Run == nil || s.Run.Mark != ev.Mark {
		return s
	}
	s.Run = nil
	if ev.Unpaid != "" && s.Paid != nil {
		return s.conclude(ev.Outcome, ev.Err, now).unpaid(ev.Unpaid, r, now)
	}
	if ev.Outcome == Denied {
		return s.denied(ev, now)
	}
	if s.State != Resuming {
		return s // the transcript has told how it went, and a person may have asked for the next
	}
	s.RetryAskedAt = time.Time{}
	if ev.Outcome == Delivered {
		s.State, s.WaitFrom, s.NextAt = Settling, now, now.Add(r.Settle)
		return s
	}
	s = s.conclude(ev.Outcome, ev.Err, now)
	if ev.Outcome == Unknown { // never sent twice because nobody knows
		s.State, s.NextAt, s.Reason = Parked, time.Time{}, ev.Err
		return s
	}
	return s.wait(r, now, now, u)
}

func (s Session) held(ev NotSent, r Rules, now time.Time) Session {
	if s.Run == nil || s.Run.Mark != ev.Mark {
		return s
	}
	s = s.withdraw()
	if ev.Then == DropOwnKey && s.Paid != nil {
		return s.unpaid(ev.Why, r, now)
	}
	s.Owner, s.Unreached = ev.Owner, ""
	switch ev.Then {
	case Park:
		if ev.Owner != nil {
			s.Unreached = ev.Why
		}
		s.State, s.NextAt, s.Reason = Parked, time.Time{}, ev.Why
		return s
	case Tell:
		s.Told = true
	case TellUnreached:
		s.Told, s.Unreached = true, ev.Why
	case UserClosed:
		s.ClosedAt = now
	case NeedsOrder:
		s.RetryAskedAt = time.Time{}
	}
	if s = s.schedule(r, now); ev.Then == KeepForPeople && s.NextAt.After(now) {
		return s // until when is the rules' to say, and they may change
	}
	s.Hold = later(ev.Until, now.Add(recheck))
	s = s.schedule(r, now)
	if s.State == Waiting {
		s.Reason = ev.Why
	}
	return s
}

func (s Session) lost(ev Lost, r Rules, now time.Time) Session {
	if s.Run == nil || s.Run.Mark != ev.Mark {
		return s
	}
	if s.State != Resuming {
		s.Run = nil
		return s
	}
	if last := s.last(); last != nil && last.Mark == ev.Mark {
		cut := *last
		cut.Outcome, cut.EndedAt = CutOff, now
		s.Cut = append(slices.Clone(s.Cut[max(0, len(s.Cut)-maxCut+1):]), cut)
	}
	return s.withdraw().schedule(r, now)
}

// recalled waits on where the resume was not yet sent.
func (s Session) recalled(r Rules, now time.Time) Session {
	if s.State != Resuming || s.Run == nil || s.Run.sent() {
		return s
	}
	return s.withdraw().schedule(r, now)
}

// withdraw takes back a resume that took no effect: it costs no attempt.
func (s Session) withdraw() Session {
	if last := s.last(); last != nil && s.Run != nil && last.Mark == s.Run.Mark {
		s.Attempts = slices.Clone(s.Attempts[:len(s.Attempts)-1])
	}
	s.Run = nil
	return s
}

func (s Session) reconsidered(r Rules, now time.Time) Session {
	if r.Overdue == 0 {
		s.MissedAt = time.Time{}
	}
	switch s.State {
	case Settling:
		s.NextAt = s.WaitFrom.Add(r.Settle)
		return s
	case Waiting:
		return s.scheduleAgain(r, now)
	case Parked:
		return s.reopened(r, now)
	default:
		return s
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// SameWindow is how far apart two statements of one reset may lie: agents
// print it to the minute, and compute it from an age.
const SameWindow = 2 * time.Minute
