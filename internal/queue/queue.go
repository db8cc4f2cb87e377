// Package queue has the tasks that people add: prompts that become sessions when they are due and their
// account has allowance left.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agent"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/journal"
	"resumed/internal/resume"
	"resumed/internal/resume/engine"
	"resumed/internal/resume/view"
	"resumed/internal/state"
	"resumed/internal/usage"
)

// Engine has the tasks, as sessions that have not started.
type Engine interface {
	Tasks(context.Context) ([]resume.Session, error)
	Enqueue(context.Context, resume.Session) (resume.Session, error)
	ReplaceTask(context.Context, resume.Key, resume.Session) (resume.Session, error)
	DropTask(context.Context, resume.Key) error
	MoveTask(ctx context.Context, task, to resume.Key) error
	Find(ctx context.Context, name string) (resume.Key, error)
	Accounts(context.Context) ([]resume.Account, error)
}

// Options configure a Queue. All are required.
type Options struct {
	Engine  Engine
	Agents  func() map[string]agent.Agent
	Margin  func() time.Duration // added to the reset of a window
	Windows func(resume.AccountKey) []usage.Window
	IsFresh func(resume.AccountKey) bool               // Windows has what the account's sessions recorded
	Sync    func(context.Context, ...resume.Key) error // returns when the tasks are stored
	Changed func()
	Log     *slog.Logger
}

// Queue is the queue of a running daemon.
type Queue struct{ opts Options }

// New returns the queue.
func New(opts Options) *Queue { return &Queue{opts} }

// Tasks returns all tasks, in order.
func (q *Queue) Tasks(ctx context.Context) ([]view.Task, error) {
	tasks, err := q.opts.Engine.Tasks(ctx)
	views := make([]view.Task, 0, len(tasks))
	for _, s := range tasks {
		views = append(views, view.OfTask(s))
	}
	return views, err
}

// Enqueue adds a task.
func (q *Queue) Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error) {
	task, err := q.taskOf(ctx, order)
	if err != nil {
		return view.Task{}, err
	}
	after, err := q.opts.Engine.Enqueue(ctx, task)
	return q.stored(ctx, after, err)
}

// Edit replaces a task that has not begun.
func (q *Queue) Edit(ctx context.Context, name string, order view.TaskOrder) (view.Task, error) {
	old, err := q.find(ctx, name)
	if err != nil {
		return view.Task{}, err
	}
	task, err := q.taskOf(ctx, order)
	if err != nil {
		return view.Task{}, err
	}
	if task.Key.Agent == old.Key.Agent {
		task.Key = old.Key
	}
	if task.Task.Behind == task.Key {
		return view.Task{}, errors.New("a task cannot wait for itself")
	}
	if task.Task.After == old.Task.After { // keep its time, which may have been computed from a reset
		task.Task.NotBefore, task.Task.Behind = old.Task.NotBefore, old.Task.Behind
	}
	after, err := q.opts.Engine.ReplaceTask(ctx, old.Key, task)
	if errors.Is(err, engine.ErrStarting) {
		err = fmt.Errorf("task %d cannot be changed: %w", old.Task.N, err)
	}
	return q.stored(ctx, after, err)
}

// Drop removes a task that has not begun.
func (q *Queue) Drop(ctx context.Context, name string) (view.Task, error) {
	old, err := q.find(ctx, name)
	if err != nil {
		return view.Task{}, err
	}
	if err := q.opts.Engine.DropTask(ctx, old.Key); err != nil {
		return view.Task{}, fmt.Errorf("task %d cannot be dropped: %w", old.Task.N, err)
	}
	q.opts.Log.Info("a task was dropped", "task", old.Task.N, "agent", old.Key.Agent)
	return q.stored(ctx, old, nil)
}

// Move moves a task to another place in the order.
func (q *Queue) Move(ctx context.Context, name, to string) ([]view.Task, error) {
	task, err := q.find(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := q.opts.Engine.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	target := task
	switch strings.ToUpper(to) {
	case control.First:
		target = all[0]
	case control.Last:
		target = all[len(all)-1]
	default:
		if target, err = q.find(ctx, to); err != nil {
			return nil, err
		}
	}
	if err := q.opts.Engine.MoveTask(ctx, task.Key, target.Key); err != nil {
		return nil, err
	}
	if err := q.opts.Sync(ctx); err != nil {
		return nil, err
	}
	return q.Tasks(ctx)
}

// stored returns a task after a change, once that is on disk.
func (q *Queue) stored(ctx context.Context, after resume.Session, err error) (view.Task, error) {
	if err != nil {
		return view.Task{}, err
	}
	q.opts.Changed()
	if err := q.opts.Sync(ctx, after.Key); err != nil {
		return view.Task{}, fmt.Errorf("it is not known whether the change of the queue is kept: %w; look at `resumed queue`", err)
	}
	return view.OfTask(after), nil
}

func (q *Queue) find(ctx context.Context, name string) (resume.Session, error) {
	all, err := q.opts.Engine.Tasks(ctx)
	if err != nil {
		return resume.Session{}, err
	}
	return findTask(all, name)
}

func findTask(tasks []resume.Session, name string) (resume.Session, error) {
	n, err := strconv.Atoi(name)
	at := slices.IndexFunc(tasks, func(s resume.Session) bool {
		return err == nil && s.Task.N == n || s.Key.ID == name || s.Task.Session != "" && s.Task.Session == name
	})
	if at < 0 {
		return resume.Session{}, fmt.Errorf("%q: %w", name, control.ErrNoTask)
	}
	return tasks[at], nil
}

func (q *Queue) taskOf(ctx context.Context, order view.TaskOrder) (resume.Session, error) {
	task, err := agents.Task(q.opts.Agents(), order, uuid.NewString(), time.Now())
	if err != nil || task.Task.After == "" || !task.Task.NotBefore.IsZero() {
		return task, err
	}
	if task.Task.After == agents.AfterReset {
		task.Task.NotBefore, err = q.reset(ctx, task)
		return task, err
	}
	all, err := q.opts.Engine.Tasks(ctx)
	if err == nil {
		err = placeBehind(&task, all, func(after string) (resume.Key, error) { return q.opts.Engine.Find(ctx, after) })
	}
	return task, err
}

// placeBehind finds what the task is to start after: another task, or a session.
func placeBehind(task *resume.Session, all []resume.Session, find func(string) (resume.Key, error)) (err error) {
	after := task.Task.After
	if other, err := findTask(all, after); err == nil {
		task.Task.Behind = other.Key
		return nil
	}
	if task.Task.Behind, err = find(after); err != nil {
		return fmt.Errorf("--after %s is neither reset, nor a time such as 22:00, nor a task: %w", after, err)
	}
	return nil
}

// reset returns when the next window of the task's account begins, with the margin: when its limit is
// reset, otherwise when the first of its windows ends.
func (q *Queue) reset(ctx context.Context, task resume.Session) (time.Time, error) {
	accounts, err := q.opts.Engine.Accounts(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	var next time.Time
	sooner := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, a := range accounts {
		if a.Name != task.Account {
			continue
		}
		if sooner(a.ResetAt); !next.IsZero() {
			break
		}
		for _, w := range q.opts.Windows(a.AccountKey) {
			sooner(w.ResetsAt)
		}
	}
	if next.IsZero() {
		return next, fmt.Errorf("--after reset: no reset of %s is known: leave out --after, or name a time such as 22:00", task.Account)
	}
	return next.Add(q.opts.Margin()).Round(0), nil
}

// Count counts the tasks that have not started.
func (q *Queue) Count(ctx context.Context) (sum control.Queue) {
	tasks, err := q.opts.Engine.Tasks(ctx)
	if err != nil {
		return sum // the engine is stopping
	}
	for _, s := range tasks {
		switch s.TaskState() {
		case resume.TaskQueued:
			sum.Queued++
			if at := view.OfTask(s).NextAt; at != nil && (sum.NextAt == nil || at.Before(*sum.NextAt)) {
				sum.NextAt = at
			}
		case resume.TaskStarting:
			sum.Starting++
		case resume.TaskFailed:
			sum.Failed++
		case resume.TaskStarted: // it is a session now
		}
	}
	return sum
}

// Gate holds a task back until the end of a window that is used up, so that it does not meet the limit. What
// was recorded last is read first.
func (q *Queue) Gate(s resume.Session, now time.Time) (why string, until time.Time) {
	if !s.Pending() || !s.RetryAskedAt.IsZero() {
		return "", time.Time{}
	}
	if !q.opts.IsFresh(s.AccountKey()) {
		return "how much of its account's allowance is used is being read", now.Add(time.Second)
	}
	for _, w := range q.opts.Windows(s.AccountKey()) {
		if w.Used >= 100 && w.ResetsAt.After(now) && w.ResetsAt.After(until) {
			until = w.ResetsAt
		}
	}
	if until.IsZero() {
		return "", until
	}
	until = until.Add(q.opts.Margin())
	return "its account's allowance is used up until " + until.UTC().Format(time.RFC3339), until
}

// Prompts splits a text into prompts: one in each line, or of several lines with lines of --- between
// them.
func Prompts(text string) []string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	parts := lines
	if slices.Contains(lines, "---") {
		parts = strings.Split("\n"+strings.Join(lines, "\n")+"\n", "\n---\n")
	}
	var prompts []string
	for _, part := range parts {
		if part = strings.Trim(part, "\n"); strings.TrimSpace(part) != "" {
			prompts = append(prompts, part)
		}
	}
	return prompts
}

// EnqueueOffline stores tasks while no daemon runs: the next one loads them.
func EnqueueOffline(cfg config.Config, stateDir string, orders []view.TaskOrder, log *slog.Logger) (added []view.Task, err error) {
	made, err := agents.Make(cfg)
	if err != nil {
		return nil, err
	}
	store, err := state.Open(stateDir, log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	snapshot, err := store.Load()
	if err != nil {
		return nil, err
	}
	sessions, now := snapshot.Sessions, time.Now().Round(0)
	var numbers resume.TaskNumbers
	for _, s := range sessions {
		numbers.Note(s)
	}
	for _, order := range orders {
		task, err := agents.Task(made, order, uuid.NewString(), now)
		if err == nil {
			err = findAfter(&task, sessions)
		}
		if err != nil {
			return nil, err
		}
		task = numbers.Give(task).Next(resume.Enqueued{}, cfg.Rules(), now, 0)
		task.FoundAt = now
		sessions = append(sessions, task)
		added = append(added, view.OfTask(task))
	}
	notes := journal.New(journal.Options{Store: store, Changes: new(control.Changes), Log: log}, nil)
	for _, s := range sessions[len(sessions)-len(added):] {
		notes.Changed(resume.Change{At: now, Event: resume.Enqueued{}, After: s})
	}
	return added, store.Sync(context.Background())
}

func findAfter(task *resume.Session, sessions []resume.Session) error {
	after := task.Task.After
	switch {
	case after == "" || !task.Task.NotBefore.IsZero():
		return nil
	case after == agents.AfterReset:
		return fmt.Errorf("--after reset: %w, and nobody else knows when that is", control.ErrNoDaemon)
	}
	tasks := slices.DeleteFunc(slices.Clone(sessions), func(s resume.Session) bool { return s.Task == nil })
	return placeBehind(task, tasks, func(string) (resume.Key, error) {
		var views []view.Session
		for _, s := range sessions {
			views = append(views, view.Of(s, 0))
		}
		found, err := view.Find(views, after)
		return found.Key(), err
	})
}
