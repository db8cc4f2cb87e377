package resume

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TaskState is the state of a task.
type TaskState string

// The states of a task.
const (
	TaskQueued   TaskState = "queued"   // it waits
	TaskStarting TaskState = "starting" // its command is being started, or its session has not been observed yet
	TaskStarted  TaskState = "started"  // it is a session now
	TaskFailed   TaskState = "failed"   // it cannot be started, or its command had no result; reported to a person
)

// TaskState returns the state of the session's task.
func (s Session) TaskState() TaskState {
	switch {
	case !s.Pending():
		return TaskStarted
	case s.NeedsPerson():
		return TaskFailed
	case s.State == Waiting:
		return TaskQueued
	default:
		return TaskStarting
	}
}

// pending is Next for a task without an observed session. done is false if the event is handled as for
// any session.
func (s Session) pending(ev Event, r Rules, now time.Time) (after Session, done bool) {
	switch ev := ev.(type) {
	case Enqueued:
		s.State, s.WaitFrom = Waiting, now
		s.Attempts, s.Cut, s.NotBefore, s.RetryAskedAt, s.MissedAt, s.Reported = nil, nil, time.Time{}, time.Time{}, time.Time{}, false
		return s.scheduleTask(r, now), true
	case Prompted: // the session exists, but the agent has not answered yet
		return s.WithTask(func(t *Task) { t.Session = s.Key.ID }), true
	case Limited, Progressed, Cancelled:
		s.BornAt = Earlier(When(ev), now)
		return s.begun(s.Key.ID, now), false
	case Became:
		return s.begun(ev.Session, now), true
	case Ended:
		return s.endedTask(ev, r, now)
	case Due:
		if s.State == Settling && !now.Before(s.NextAt) {
			return s.failed(now), true
		}
		return s, false
	case Forget, Expired:
		if s.Run == nil { // a running command shows its own result
			s.State, s.Reason, s.Task = Watching, Because(WhyTaskDropped), nil
		}
		return s, true
	case Superseded, Joined, Postponed, Refused, Lifted:
		return s, true // only for stopped sessions
	}
	return s, false
}

// WithTask returns the session with its task changed.
func (s Session) WithTask(change func(*Task)) Session {
	task := *s.Task
	change(&task)
	s.Task = &task
	return s
}

func (s Session) begun(session string, now time.Time) Session {
	s = s.WithTask(func(t *Task) { t.Session, t.BegunAt = session, now })
	s = s.conclude(Recovered, "", now).rest(now, Reason{Kind: WhyTaskBegan, N: int64(s.Task.N), By: session})
	s.RecoveredAt = time.Time{} // it was never stopped
	return s
}

// endedTask handles the end of a task's command. The transcript may not be read yet, so the task
// settles before it fails.
func (s Session) endedTask(ev Ended, r Rules, now time.Time) (Session, bool) {
	if !s.runs(ev.Mark) || ev.Outcome == Denied || ev.Outcome == Unknown {
		return s, false
	}
	s.Run, s.RetryAskedAt = nil, time.Time{}
	if ev.Outcome != Delivered {
		s = s.conclude(ev.Outcome, ev.Err, now)
	}
	if s.State == Resuming {
		s = s.settle(r.Settle, now)
	}
	return s, true
}

// failed parks a task after its command has ended without a session. It is started again only if a
// person asks for it.
func (s Session) failed(now time.Time) Session {
	s = s.conclude(NoProgress, "its command ended without an answer from the agent", now)
	return s.park(Reason{Kind: WhyTaskFailed, N: int64(s.Task.N), Text: s.Last().Err})
}

// maxPrompt is the longest prompt of a task: one argument of a command can have 128 KiB at most.
const maxPrompt = 100 << 10

// CheckPrompt says why no agent can be given that prompt, or returns nil.
func CheckPrompt(prompt string) error {
	switch {
	case strings.TrimSpace(prompt) == "":
		return errors.New("the prompt is empty")
	case len(prompt) > maxPrompt:
		return fmt.Errorf("the prompt has %d bytes, and no more than %d can be given to a program: put it into a file, and name that file in the prompt", len(prompt), maxPrompt)
	case strings.ContainsRune(prompt, 0):
		return errors.New("the prompt has a NUL in it, which no program can be given")
	default:
		return nil
	}
}

// SortTasks sorts tasks by place, then by number.
func SortTasks(tasks []Session) {
	slices.SortFunc(tasks, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Task.Place, b.Task.Place), cmp.Compare(a.Task.N, b.Task.N))
	})
}

// TaskNumbers are the highest number and place of the tasks that were noted. A number is used again
// only when no other task is left.
type TaskNumbers struct{ n, place int }

// Note counts a task; it ignores a session without one.
func (l *TaskNumbers) Note(s Session) {
	if s.Task != nil {
		l.n, l.place = max(l.n, s.Task.N), max(l.place, s.Task.Place)
	}
}

// Give returns a task with the next number, in the last place.
func (l *TaskNumbers) Give(s Session) Session {
	l.n, l.place = l.n+1, l.place+1
	return s.WithTask(func(t *Task) { t.N, t.Place = l.n, l.place })
}

// MayHaveStarted reports whether the other session may be the one that the command of the task started:
// until its id is known, any new one in its directory may be.
func (s Session) MayHaveStarted(other Session) bool {
	switch {
	case s.Run == nil || !s.IsPlaceholder() || s.Key.Agent != other.Key.Agent || other.Pending():
		return false
	case s.Task.Session != "":
		return s.Task.Session == other.Key.ID
	default:
		return s.Cwd == other.Cwd && !other.FoundAt.Before(s.LastStart())
	}
}
