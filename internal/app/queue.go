package app

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

// desk takes the tasks that people ask for.
type desk struct {
	settings *inForce
	engine   *engine.Engine
	store    *state.Store
	usage    *usage.Collector
	changes  *control.Changes
	log      *slog.Logger
}

func (d *desk) Tasks(ctx context.Context) ([]view.Task, error) {
	tasks, err := d.engine.Tasks(ctx)
	return taskViews(tasks), err
}

func taskViews(tasks []resume.Session) []view.Task {
	views := make([]view.Task, 0, len(tasks))
	for _, s := range tasks {
		views = append(views, view.OfTask(s))
	}
	return views
}

func (d *desk) Enqueue(ctx context.Context, order view.TaskOrder) (view.Task, error) {
	task, err := d.make(ctx, order)
	if err != nil {
		return view.Task{}, err
	}
	after, err := d.engine.Enqueue(ctx, task)
	return d.kept(ctx, after, err)
}

func (d *desk) Edit(ctx context.Context, name string, order view.TaskOrder) (view.Task, error) {
	old, err := d.find(ctx, name)
	if err != nil {
		return view.Task{}, err
	}
	task, err := d.make(ctx, order)
	if err != nil {
		return view.Task{}, err
	}
	if task.Key.Agent == old.Key.Agent {
		task.Key = old.Key
	}
	if task.Task.Behind == task.Key {
		return view.Task{}, errors.New("a task cannot wait for itself")
	}
	if task.Task.After == old.Task.After { // what it was told then stands
		task.Task.NotBefore, task.Task.Behind = old.Task.NotBefore, old.Task.Behind
	}
	after, err := d.engine.ReplaceTask(ctx, old.Key, task)
	if errors.Is(err, engine.ErrStarting) {
		err = fmt.Errorf("task %d cannot be changed: %w", old.Task.N, err)
	}
	return d.kept(ctx, after, err)
}

func (d *desk) Drop(ctx context.Context, name string) (view.Task, error) {
	old, err := d.find(ctx, name)
	if err != nil {
		return view.Task{}, err
	}
	if err := d.engine.DropTask(ctx, old.Key); err != nil {
		return view.Task{}, fmt.Errorf("task %d cannot be dropped: %w", old.Task.N, err)
	}
	d.log.Info("a task was dropped", "task", old.Task.N, "agent", old.Key.Agent)
	return d.kept(ctx, old, nil)
}

func (d *desk) Move(ctx context.Context, name, to string) ([]view.Task, error) {
	task, err := d.find(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := d.engine.Tasks(ctx)
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
		if target, err = d.find(ctx, to); err != nil {
			return nil, err
		}
	}
	if err := d.engine.MoveTask(ctx, task.Key, target.Key); err != nil {
		return nil, err
	}
	if err := d.store.Sync(ctx); err != nil {
		return nil, err
	}
	return d.Tasks(ctx)
}

// kept returns what became of a task once that is on disk.
func (d *desk) kept(ctx context.Context, after resume.Session, err error) (view.Task, error) {
	if err != nil {
		return view.Task{}, err
	}
	d.changes.NoteDaemon()
	return view.OfTask(after), d.store.Sync(ctx, after.Key)
}

func (d *desk) find(ctx context.Context, name string) (resume.Session, error) {
	all, err := d.engine.Tasks(ctx)
	if err != nil {
		return resume.Session{}, err
	}
	return findTask(all, name)
}

// findTask returns the task that a person means, by its number or its id.
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

// make makes a task of what a person asks for.
func (d *desk) make(ctx context.Context, order view.TaskOrder) (resume.Session, error) {
	task, err := agents.Task(d.settings.Load().agents, order, uuid.NewString(), time.Now())
	if err != nil || task.Task.After == "" || !task.Task.NotBefore.IsZero() {
		return task, err
	}
	if task.Task.After == agents.AfterReset {
		task.Task.NotBefore, err = d.reset(ctx, task)
		return task, err
	}
	if other, err := d.find(ctx, task.Task.After); err == nil {
		task.Task.Behind = other.Key
		return task, nil
	}
	task.Task.Behind, err = d.engine.Find(ctx, task.Task.After)
	if err != nil {
		err = noSuchAfter(task.Task.After, err)
	}
	return task, err
}

func noSuchAfter(after string, err error) error {
	return fmt.Errorf("--after %s is neither reset, nor a time such as 22:00, nor a task: %w", after, err)
}

// reset returns when the next window of the task's account begins, with the margin that
// it needs, as far as anybody was told: that of a limit which holds, else the first of its
// allowances to come back. Zero: there is nothing to wait for.
func (d *desk) reset(ctx context.Context, task resume.Session) (time.Time, error) {
	accounts, err := d.engine.Accounts(ctx)
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
		for _, w := range d.usage.Windows(a.AccountKey) {
			sooner(w.ResetsAt)
		}
	}
	if next.IsZero() {
		return next, nil
	}
	return next.Add(d.settings.Load().rules.Margin).Round(0), nil
}

// count counts the tasks that were not begun.
func (d *desk) count(ctx context.Context) (sum control.Queue) {
	tasks, err := d.engine.Tasks(ctx)
	if err != nil {
		return sum // it stops
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
		case resume.TaskStarted: // a session
		}
	}
	return sum
}

// full has a task wait for the end of a window that is used up, as its account was told,
// though nobody was refused anything yet.
func (d *desk) full(s resume.Session, now time.Time) (why string, until time.Time) {
	if !s.Pending() || !s.RetryAskedAt.IsZero() {
		return "", time.Time{}
	}
	for _, w := range d.usage.Windows(s.AccountKey()) {
		if w.Used >= 100 && w.ResetsAt.After(now) && w.ResetsAt.After(until) {
			until = w.ResetsAt
		}
	}
	if until.IsZero() {
		return "", until
	}
	until = until.Add(d.settings.Load().rules.Margin)
	return "due, but its account's allowance is used up until " + until.UTC().Format(time.RFC3339), until
}

// EnqueueLeft takes tasks where no daemon runs: the next one finds them in its state.
func EnqueueLeft(cfg config.Config, stateDir string, orders []view.TaskOrder, log *slog.Logger) (added []view.Task, err error) {
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
			err = lookUp(&task, sessions)
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

// lookUp finds what a task is to be begun after, where no daemon can be asked.
func lookUp(task *resume.Session, sessions []resume.Session) error {
	after := task.Task.After
	switch {
	case after == "" || !task.Task.NotBefore.IsZero():
		return nil
	case after == agents.AfterReset:
		return fmt.Errorf("--after reset: %w, and nobody else knows when that is", control.ErrNoDaemon)
	}
	tasks := slices.DeleteFunc(slices.Clone(sessions), func(s resume.Session) bool { return s.Task == nil })
	if other, err := findTask(tasks, after); err == nil {
		task.Task.Behind = other.Key
		return nil
	}
	views := make([]view.Session, 0, len(sessions))
	for _, s := range sessions {
		views = append(views, view.Of(s, 0))
	}
	found, err := view.Find(views, after)
	if err != nil {
		return noSuchAfter(after, err)
	}
	task.Task.Behind = found.Key()
	return nil
}
