package queue

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

// A person who is told that a task is stored may close the terminal.
func TestAChangeIsToldWhenItIsOnDisk(t *testing.T) {
	for name, change := range map[string]func(*rig) error{
		"add":  func(r *rig) error { _, err := r.Enqueue(t.Context(), r.order("")); return err },
		"edit": func(r *rig) error { _, err := r.Edit(t.Context(), "1", r.order("")); return err },
		"drop": func(r *rig) error { _, err := r.Drop(t.Context(), "1"); return err },
		"move": func(r *rig) error { _, err := r.Move(t.Context(), "1", "2"); return err },
	} {
		r := newRig(t)
		r.add(t, "")
		r.add(t, "")
		synced, shown, full := 0, 0, errors.New("the disk is full")
		r.opts.Sync = func(context.Context, ...resume.Key) error { synced++; return full }
		r.opts.Changed = func() { shown++ }
		require.ErrorIs(t, change(r), full, name)
		require.Equal(t, 1, synced, name)
		if name != "move" { // which is shown by its steps
			require.Equal(t, 1, shown, name)
		}
		full = nil
		require.NoError(t, change(r), name)
	}
}

func TestATaskThatIsEditedWaitsForWhatItsUserSays(t *testing.T) {
	r := newRig(t)
	old := r.add(t, "3h")
	_, err := r.Edit(t.Context(), "1", r.order("5h"))
	require.NoError(t, err)
	require.True(t, r.engine.tasks[0].Task.NotBefore.After(old.Task.NotBefore))
	_, err = r.Edit(t.Context(), "1", r.order(""))
	require.NoError(t, err)
	require.Zero(t, r.engine.tasks[0].Task.NotBefore)

	other := r.order("")
	other.Agent = "other"
	_, err = r.Edit(t.Context(), "1", other)
	require.NoError(t, err)
	require.Equal(t, "other", r.engine.tasks[0].Key.Agent, "the session would be begun by another agent")
}

func TestNoTaskIsMeantByNothing(t *testing.T) {
	r := newRig(t)
	r.add(t, "")
	_, err := r.Drop(t.Context(), "")
	require.ErrorIs(t, err, control.ErrNoTask)
	r.engine.tasks[0].Task.Session = "began"
	_, err = r.Drop(t.Context(), "began")
	require.NoError(t, err)
}

func TestTasksThatAreAddedWithoutADaemonAreFoundByTheNext(t *testing.T) {
	home, dir, bin := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "codex"), []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", t.TempDir())
	log := slog.New(slog.DiscardHandler)
	order := func(prompt, after string) view.TaskOrder {
		return view.TaskOrder{Agent: "codex", Dir: dir, Prompt: prompt, After: after}
	}
	add := func(orders ...view.TaskOrder) error {
		_, err := EnqueueOffline(config.Default(), home, orders, log)
		return err
	}
	require.NoError(t, add(order("one", ""), order("two", "1")))
	require.NoError(t, add(order("three", "2")))
	require.ErrorIs(t, add(order("four", ""), order("five", "reset")), control.ErrNoDaemon)
	require.ErrorContains(t, add(order("six", "nothing")), "--after nothing")

	store, err := state.Open(home, log)
	require.NoError(t, err)
	defer store.Close()
	snapshot, err := store.Load()
	require.NoError(t, err)
	tasks := snapshot.Sessions
	resume.SortTasks(tasks)
	require.Len(t, tasks, 3, "of orders that are refused none is stored")
	for i, prompt := range []string{"one", "two", "three"} {
		task := tasks[i]
		require.Equal(t, prompt, task.Task.Prompt)
		require.Equal(t, i+1, task.Task.N)
		require.Equal(t, resume.Waiting, task.State)
		require.False(t, task.FoundAt.IsZero())
		if i > 0 {
			require.Equal(t, tasks[i-1].Key, task.Task.Behind)
		}
	}
}

func TestPromptsOfAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    nil,
		"one\ntwo\n":                          {"one", "two"},
		"one\r\n\r\n  \r\ntwo":                {"one", "two"},
		"one --- and more\ntwo":               {"one --- and more", "two"},
		"one\nof two lines\n---\n\n two\n":    {"one\nof two lines", " two"},
		"---\none\r\nmore\r\n---\r\ntwo\n---": {"one\nmore", "two"},
	} {
		require.Equal(t, want, Prompts(text), "%q", text)
	}
}
