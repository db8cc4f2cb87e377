package resume

import (
	"fmt"
	"reflect"
	"time"
)

// Change is one step of one session.
type Change struct {
	At            time.Time
	Event         Event
	Before, After Session
	Dropped       bool // After is not stored any longer
}

// Entered reports whether this step led into state.
func (c Change) Entered(state State) bool {
	return c.After.State == state && c.Before.State != state
}

// NeedsPerson reports whether this step is one at which a person is needed: the session does not
// continue without them, or not until something changes.
func (c Change) NeedsPerson() bool {
	return c.Entered(Parked) || c.After.Reported && !c.Before.Reported
}

// withNotice names the notice of a step at which a person is needed. The name is made of what a crash
// does not change, so that the step has the same name when it is taken again; and it is stored, so that
// a limit that is read later does not make another notice of it.
func (s Session) withNotice(before Session) Session {
	c := Change{Before: before, After: s}
	switch {
	case c.NeedsPerson() || c.Entered(GaveUp):
		s.NoticeCount++
		s.NoticeID = fmt.Sprintf("%d.%d.%d.%d", millis(s.LimitedAt), s.Tries(), millis(s.LastStart()), s.NoticeCount)
	case !s.Over() && !s.Reported:
		s.NoticeID = ""
	}
	return s
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Forgets reports whether this step forgets an interruption that no person has cared
// for.
func (c Change) Forgets() bool {
	_, expired := c.Event.(Expired)
	return expired
}

// Begun returns the resume that this step began, or nil.
func (c Change) Begun() *Run {
	if run := c.After.Run; run != nil && !c.Before.runs(run.Mark) {
		return run
	}
	return nil
}

// Begins reports whether the command that runs begins the session of a task: it may have
// moved before its start was known.
func (c Change) Begins() bool { return c.Before.Run != nil && c.Before.Run.Begins }

// Stepped reports whether the state, the wait or the reason of a session has changed.
func (c Change) Stepped() bool {
	before, after := c.Before, c.After
	if _, started := c.Event.(Started); started {
		return false // what matters of it is that it was sent
	}
	moved := before.State != after.State && (before.State != 0 || after.State != Watching)
	postponed := after.State == Waiting && !before.NextAt.Equal(after.NextAt)
	return moved || postponed || before.Reason != after.Reason
}

// Declined reports whether a step is an interruption that is not waited out:
// it is too old, or its directory is excluded.
func (c Change) Declined() bool {
	_, limited := c.Event.(Limited)
	if !limited || c.After.State != Watching || c.Before.Interrupted() {
		return false
	}
	return c.Before.Reason != c.After.Reason || !c.Before.LimitedAt.Equal(c.After.LimitedAt)
}

// Sent reports whether with this step a resume was really sent: its command
// runs, or it was delivered without one.
func (c Change) Sent() bool {
	run := c.Before.Run
	if run == nil || run.Process.PID != 0 {
		return false
	}
	switch ev := c.Event.(type) {
	case Started:
		return c.After.Run != nil && c.After.Run.Process.PID != 0
	case Ended:
		return c.delivers(ev)
	default:
		return false
	}
}

// delivers reports whether the end of a resume brings that it was delivered. A
// session that moved before is past that.
func (c Change) delivers(ev Ended) bool {
	return ev.Mark == c.Before.Run.Mark && ev.Outcome == Delivered && c.Before.State == Resuming
}

// Given reports whether with this step a resume has reached the agent for
// certain. One that is only about to be handed to a live process may still be
// held back.
func (c Change) Given() bool {
	if c.Before.Run != nil && c.Before.Run.Unverifiable {
		ended, ok := c.Event.(Ended)
		return ok && c.delivers(ended)
	}
	started, ok := c.Event.(Started)
	return c.Sent() && !(ok && started.Unverifiable)
}

// Concluded returns the resume whose outcome this step brought, or nil. One
// that moved the session may turn out to have been refused something.
func (c Change) Concluded() *Attempt {
	if c.Before.Pending() {
		return nil // to begin something is no resume
	}
	if last := c.After.last(); c.Entered(Parked) && last.Outcome == Denied {
		return &last
	}
	if was := c.Before.last(); was.N > 0 && was.Outcome == "" {
		if a, _ := c.After.Tried(was.Mark); a.Outcome != "" {
			return &a
		}
	}
	return nil
}

// Interrupts reports whether a refusal stopped a session that worked, or that
// was just resumed. An agent that repeats itself is not stopped again.
func (c Change) Interrupts() bool {
	switch c.Before.State {
	case 0, Watching, Resuming, Settling:
		return !c.After.LimitedAt.Equal(c.Before.LimitedAt)
	default:
		return false
	}
}

// Waited returns how long a session that is resumed now has waited.
func (c Change) Waited() time.Duration {
	if c.Before.Tries() == 0 {
		return 0
	}
	return c.Before.LastStart().Sub(c.Before.WaitFrom)
}

// WorksOn reports whether nothing happened but that a working session worked on.
func (c Change) WorksOn() bool {
	a, b := c.Before, c.After
	if a.State != b.State || a.State != Watching {
		return false
	}
	a.Seen, b.Seen = Position{}, Position{}
	a.MovedAt, b.MovedAt = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// Recovery returns how long the outage took that this step ended, and of which provider it was.
func (c Change) Recovery() (provider string, took time.Duration, ok bool) {
	moved, ok := c.Event.(Progressed)
	if !ok || !c.Before.Interrupted() || c.After.State != Watching || !c.Before.Limit.Class.Outage() {
		return "", 0, false
	}
	took = earlier(moved.At, c.At).Sub(c.Before.stoppedAt())
	return c.Before.asked(), took, took > 0 && c.Before.MissedAt.IsZero()
}
