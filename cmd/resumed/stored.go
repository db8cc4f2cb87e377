//go:build !windows

package main

import (
	"errors"
	"io/fs"
	"os"

	"resumed/internal/dirs"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

// withState calls read with the stored state of a daemon, if there is one.
func withState(read func(*state.Reader) error) error {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	reader, err := state.OpenReader(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	return read(reader)
}

// storedSessions loads the sessions that a daemon has stored.
func storedSessions() (known []view.Session, err error) {
	err = withState(func(reader *state.Reader) error {
		known, err = sessionsIn(reader)
		return err
	})
	return known, err
}

func sessionsIn(reader *state.Reader) ([]view.Session, error) {
	sessions, err := reader.Sessions()
	var views []view.Session
	for _, s := range sessions {
		if !s.IsPlaceholder() { // else it is a task
			views = append(views, view.Of(s, 0)) // the number of tries is not needed
		}
	}
	return views, err
}
