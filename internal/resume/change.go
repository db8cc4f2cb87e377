package resume

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"resumed/internal/limit"
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

// Recovers reports whether an interruption ended with this step because the session works again.
func (c Change) Recovers() bool {
	if c.After.State != Watching {
		return false
	}
	switch c.Event.(type) {
	case Progressed:
		return c.Before.Interrupted() || c.Before.StoppedBefore != nil // a person continued it
	case Asked, Answered:
		return c.Before.Interrupted()
	default:
		return false // such as an order, or a prompt that may be refused
	}
}

// NeedsPerson reports whether a person must act after this step: the session does not continue without
// them, or not until something changes.
func (c Change) NeedsPerson() bool {
	return c.Entered(Parked) || c.After.Reported && !c.Before.Reported
}

// withNotice gives the notice of this step an id, if a person is needed. The id is made of values that
// are the same after a crash, so a repeated step gets the same id. It is stored, so a limit that is
// read later makes no second notice.
func (s Session) withNotice(before Session) Session {
	c := Change{Before: before, After: s}
	switch {
	case c.NeedsPerson() || c.Entered(GaveUp):
		s.NoticeCount++
		s.NoticeID = fmt.Sprintf("%d.%d.%d.%d", millis(s.LimitedAt), s.Tries(), millis(s.LastStart()), s.NoticeCount)
	case !s.NeedsPerson() && !s.Reported:
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

// ClaimedRun returns the resume that this step claimed, or nil.
func (c Change) ClaimedRun() *Run {
	if run := c.After.Run; run != nil && !c.Before.runs(run.Mark) {
		return run
	}
	return nil
}

// StartsTask reports whether the running command begins the session of a task. Such a session may move
// before the start of its command is known.
func (c Change) StartsTask() bool { return c.Before.Run != nil && c.Before.Run.Begins }

// Stepped reports whether the state, the wait or the reason of a session has changed.
func (c Change) Stepped() bool {
	before, after := c.Before, c.After
	if _, started := c.Event.(Started); started {
		return false // Sent covers it
	}
	moved := before.State != after.State && (before.State != 0 || after.State != Watching)
	postponed := after.State == Waiting && !before.NextAt.Equal(after.NextAt)
	return moved || postponed || c.NewReason()
}

// NewReason reports whether the reason of a session is another one now, or what it is about.
func (c Change) NewReason() bool {
	a, b := c.Before, c.After
	if a.State == b.State && b.State == Resuming {
		return false // a refusal of before is read late
	}
	return a.Reason != b.Reason || a.Unreached != b.Unreached || a.Limit.Class != b.Limit.Class || a.LimitText != b.LimitText ||
		b.Reason.Kind == WhySubagents && !slices.EqualFunc(a.Subagents, b.Subagents, func(a, b Subagent) bool { return a.ID == b.ID })
}

// Declined reports whether this step is an interruption that gets no wait: it is too old, or its
// directory is excluded.
func (c Change) Declined() bool {
	_, limited := c.Event.(Limited)
	if !limited || c.After.State != Watching || c.Before.Interrupted() {
		return false
	}
	return c.Before.Reason != c.After.Reason || !c.Before.LimitedAt.Equal(c.After.LimitedAt)
}

// Sent reports whether this step sent a resume: its command runs, or the prompt was delivered without a
// command.
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

// delivers reports whether the end of a resume is what shows its delivery. If the session moved before,
// the transcript has already shown it.
func (c Change) delivers(ev Ended) bool {
	return ev.Mark == c.Before.Run.Mark && ev.Outcome == Delivered && c.Before.State == Resuming
}

// Given reports whether the agent has certainly received the resume with this step. A prompt that is
// about to be handed to a live process may still be held back.
func (c Change) Given() bool {
	if c.Before.Run != nil && c.Before.Run.Unverifiable {
		ended, ok := c.Event.(Ended)
		return ok && c.delivers(ended)
	}
	started, ok := c.Event.(Started)
	return c.Sent() && !(ok && started.Unverifiable)
}

// Concluded returns the resume that got its outcome with this step, or nil. A resume that moved the
// session may get the outcome Denied later.
func (c Change) Concluded() *Attempt {
	if c.Before.Pending() {
		return nil // the start of a task is not a resume
	}
	if last := c.After.Last(); c.Entered(Parked) && last.Outcome == Denied {
		return &last
	}
	if was := c.Before.Last(); was.Outcome == "" {
		if a, _ := c.After.Tried(was.Mark); a.Outcome != "" {
			return &a
		}
	}
	return nil
}

// Interrupts reports whether a refusal stopped a session that worked, or that was just resumed. A
// repeated refusal of a stopped session does not count.
func (c Change) Interrupts() bool {
	return !c.Before.State.CanRetry() && !c.After.LimitedAt.Equal(c.Before.LimitedAt)
}

// WorksOn reports whether the only change is that a working session moved.
func (c Change) WorksOn() bool {
	a, b := c.Before, c.After
	if a.State != b.State || a.State != Watching {
		return false
	}
	a.Seen, b.Seen = Position{}, Position{}
	a.MovedAt, b.MovedAt = time.Time{}, time.Time{}
	return reflect.DeepEqual(a, b)
}

// Disproves reports whether this step shows that the usage limit of a session was over before its reset:
// the session works again, with the model that the limit had stopped.
func (c Change) Disproves() (reset, at time.Time, ok bool) {
	ev, moved := c.Event.(Progressed)
	was, by := c.Before, &c.Before.Limit
	if !was.Interrupted() {
		by = was.StoppedBefore // a person continued it
	}
	if !moved || by == nil || by.Class != limit.UsageLimit {
		return reset, at, false
	}
	reset, at = by.Reset.At, Earlier(ev.At, c.At)
	early := at.After(was.LimitedAt) && reset.Sub(at) > SameWindow
	return reset, at, early && c.After.State == Watching && was.Model == c.After.Model
}
