package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/journal"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

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
