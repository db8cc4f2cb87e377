package queue

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/control"
	"resumed/internal/limit"
	"resumed/internal/program"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/resume/view"
	"resumed/internal/usage"
)

// bot is an agent that can start sessions.
type bot struct{ agent.Agent }

func (bot) Name() string                             { return "bot" }
func (bot) Home() string                             { return "bot:default" }
func (bot) Start(resume.Session) (agent.Plan, error) { return agent.Plan{}, nil }
func (bot) Program() (program.Found, error)          { return program.Found{}, nil }
func (bot) Starts() bool                             { return true }

// otherBot is another such agent.
type otherBot struct{ bot }

func (otherBot) Name() string { return "other" }

// fakeEngine holds tasks in a slice.
type fakeEngine struct {
	tasks    []resume.Session
	accounts []resume.Account
	refusal  error // of a change
}

func (e *fakeEngine) Tasks(context.Context) ([]resume.Session, error) { return e.tasks, nil }

func (e *fakeEngine) Enqueue(_ context.Context, s resume.Session) (resume.Session, error) {
	s = s.WithTask(func(t *resume.Task) { t.N = len(e.tasks) + 1 })
	e.tasks = append(e.tasks, s)
	return s, e.refusal
}

func (e *fakeEngine) ReplaceTask(_ context.Context, key resume.Key, s resume.Session) (resume.Session, error) {
	for i, old := range e.tasks {
		if old.Key == key {
			e.tasks[i] = s.WithTask(func(t *resume.Task) { t.N = old.Task.N })
			return e.tasks[i], e.refusal
		}
	}
	return resume.Session{}, resume.ErrNoSession
}

func (e *fakeEngine) DropTask(context.Context, resume.Key) error { return e.refusal }

func (e *fakeEngine) MoveTask(_ context.Context, task, to resume.Key) error {
	e.refusal = errors.New("moved " + task.ID + " to " + to.ID)
	return nil
}

func (e *fakeEngine) Find(_ context.Context, name string) (resume.Key, error) {
	if name == "session-1" {
		return resume.Key{Agent: "bot", ID: name}, nil
	}
	return resume.Key{}, resume.ErrNoSession
}

func (e *fakeEngine) Accounts(context.Context) ([]resume.Account, error) { return e.accounts, nil }

type rig struct {
	*Queue
	engine  *fakeEngine
	windows []usage.Window
	moved   bool
	stored  []resume.Key // the keys of calls of Sync
	full    error        // of Sync
	dir     string
}

func newRig(t *testing.T) *rig {
	r := &rig{engine: new(fakeEngine), dir: t.TempDir()}
	r.Queue = New(Options{
		Engine:  r.engine,
		Agents:  func() map[string]agent.Agent { return map[string]agent.Agent{"bot": bot{}, "other": otherBot{}} },
		Margin:  func() time.Duration { return time.Minute },
		Windows: func(resume.AccountKey) []usage.Window { return r.windows },
		IsFresh: func(resume.AccountKey) bool { return !r.moved },
		Sync: func(_ context.Context, keys ...resume.Key) error {
			r.stored = append(r.stored, keys...)
			return r.full
		},
		Changed: func() {},
		Log:     slog.New(slog.DiscardHandler),
	})
	return r
}

func (r *rig) order(after string) view.TaskOrder {
	return view.TaskOrder{Agent: "bot", Dir: r.dir, Prompt: "do it", After: after}
}

func (r *rig) add(t *testing.T, after string) resume.Session {
	t.Helper()
	v, err := r.Enqueue(t.Context(), r.order(after))
	require.NoError(t, err)
	require.Equal(t, v.ID, r.stored[len(r.stored)-1].ID, "it is on disk before a person is told of it")
	return r.engine.tasks[len(r.engine.tasks)-1]
}

func TestWhatATaskIsStartedAfter(t *testing.T) {
	r := newRig(t)
	reset := time.Now().Add(time.Hour).Round(0)
	_, err := r.Enqueue(t.Context(), r.order("reset"))
	require.ErrorContains(t, err, "--after reset: no reset of bot:default is known")

	r.engine.accounts = []resume.Account{
		{AccountKey: resume.AccountKey{Name: "bot:other"}, ResetAt: reset.Add(-time.Minute)},
		{AccountKey: resume.AccountKey{Name: "bot:default"}},
	}
	r.windows = []usage.Window{{ResetsAt: reset.Add(time.Hour)}, {ResetsAt: reset}, {ResetsAt: time.Now().Add(-time.Hour)}}
	require.True(t, reset.Add(time.Minute).Equal(r.add(t, "reset").Task.NotBefore), "its first allowance returns")
	r.engine.accounts[1].ResetAt = reset.Add(3 * time.Hour)
	require.True(t, reset.Add(3*time.Hour+time.Minute).Equal(r.add(t, "reset").Task.NotBefore), "its limit is over")

	require.Equal(t, r.engine.tasks[0].Key, r.add(t, "1").Task.Behind)
	require.Equal(t, "session-1", r.add(t, "session-1").Task.Behind.ID)
	require.False(t, r.add(t, "22:00").Task.NotBefore.IsZero())
	_, err = r.Enqueue(t.Context(), r.order("nothing"))
	require.ErrorContains(t, err, "--after nothing is neither reset, nor a time")
}

func TestATaskThatTheEngineRefusesIsNotStored(t *testing.T) {
	r := newRig(t)
	r.engine.refusal = errors.New("there is one already")
	_, err := r.Enqueue(t.Context(), r.order(""))
	require.ErrorIs(t, err, r.engine.refusal)
	require.Empty(t, r.stored)
	_, err = r.Enqueue(t.Context(), view.TaskOrder{Agent: "bot", Dir: r.dir})
	require.ErrorContains(t, err, "the prompt is empty")
}

func TestAnEditedTaskStaysTheSame(t *testing.T) {
	r := newRig(t)
	old := r.add(t, "3h")
	changed := r.order("3h")
	changed.Prompt = "do more"
	_, err := r.Edit(t.Context(), "1", changed)
	require.NoError(t, err)
	now := r.engine.tasks[0]
	require.Equal(t, old.Key, now.Key)
	require.Equal(t, "do more", now.Task.Prompt)
	require.Equal(t, old.Task.NotBefore, now.Task.NotBefore, "what it waits for was not changed")

	_, err = r.Edit(t.Context(), "1", r.order("1"))
	require.ErrorContains(t, err, "cannot wait for itself")
	_, err = r.Edit(t.Context(), "7", r.order(""))
	require.ErrorIs(t, err, control.ErrNoTask)
	r.engine.refusal = engine.ErrStarting
	_, err = r.Edit(t.Context(), old.Key.ID, changed)
	require.ErrorContains(t, err, "task 1 cannot be changed")
	_, err = r.Drop(t.Context(), "1")
	require.ErrorContains(t, err, "task 1 cannot be dropped")
	r.engine.refusal = nil
	_, err = r.Drop(t.Context(), "1")
	require.NoError(t, err)
}

func TestATaskMovesToAnEndOrToAnother(t *testing.T) {
	r := newRig(t)
	first, second, third := r.add(t, ""), r.add(t, ""), r.add(t, "")
	for to, want := range map[string]resume.Session{"first": first, "LAST": third, "3": third, second.Key.ID: second} {
		_, err := r.Move(t.Context(), "2", to)
		require.NoError(t, err)
		require.EqualError(t, r.engine.refusal, "moved "+second.Key.ID+" to "+want.Key.ID)
	}
	_, err := r.Move(t.Context(), "2", "9")
	require.ErrorIs(t, err, control.ErrNoTask)
}

func TestTasksAreCountedByState(t *testing.T) {
	r := newRig(t)
	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for _, s := range []resume.Session{
		{State: resume.Waiting, Interruption: resume.Interruption{NextAt: later}},
		{State: resume.Waiting, Interruption: resume.Interruption{NextAt: soon}},
		{State: resume.Resuming},
		{State: resume.Parked},
	} {
		s.Task = new(resume.Task)
		r.engine.tasks = append(r.engine.tasks, s)
	}
	r.engine.tasks = append(r.engine.tasks, resume.Session{State: resume.Watching, Task: &resume.Task{BegunAt: soon}})
	got := r.Count(t.Context())
	require.True(t, soon.Equal(*got.NextAt))
	got.NextAt = nil
	require.Equal(t, control.Queue{Queued: 2, Starting: 1, Failed: 1}, got)
}

// A task that starts while an allowance is used up would only meet the limit.
func TestATaskWaitsForAnAllowanceThatIsUsedUp(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	task := resume.Session{State: resume.Waiting, Task: new(resume.Task)}
	r.windows = []usage.Window{{Used: 99, ResetsAt: now.Add(9 * time.Hour)}, {Used: 100, ResetsAt: now.Add(-time.Hour)}}
	why, _ := r.Gate(task, now)
	require.Empty(t, why)

	r.windows = append(r.windows, usage.Window{Used: 100, ResetsAt: now.Add(time.Hour)}, usage.Window{Used: 104, ResetsAt: now.Add(2 * time.Hour)})
	why, until := r.Gate(task, now)
	require.Contains(t, why, "its account's allowance is used up")
	require.Equal(t, now.Add(2*time.Hour+time.Minute), until)

	stopped := resume.Session{State: resume.Waiting, Interruption: resume.Interruption{Limit: limit.Verdict{Class: limit.UsageLimit}}}
	why, _ = r.Gate(stopped, now)
	require.Empty(t, why, "a session that was stopped goes by its own limit")
	task.RetryAskedAt = now
	why, _ = r.Gate(task, now)
	require.Empty(t, why, "a person asks for it now")

	task.RetryAskedAt, r.windows, r.moved = time.Time{}, nil, true
	why, until = r.Gate(task, now)
	require.Contains(t, why, "is being read")
	require.Equal(t, now.Add(time.Second), until)
}

// The engine has the task by then, and may store it yet.
func TestATaskWhoseStorageIsNotConfirmedIsNotRefused(t *testing.T) {
	r := newRig(t)
	r.full = errors.New("the daemon stops")
	_, err := r.Enqueue(t.Context(), r.order(""))
	require.EqualError(t, err, "it is not known whether the change of the queue is kept: the daemon stops; look at `resumed queue`")
}
