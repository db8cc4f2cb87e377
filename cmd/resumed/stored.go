//go:build !windows

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"resumed/internal/agents"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
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

// leftBehind prints the sessions as the last daemon stored them, if there are any.
func (c *cli) leftBehind(all bool, args []string, which func(view.Session) bool) error {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	written := state.LastWritten(dir) // before it is opened
	known, err := storedSessions()
	if err != nil {
		return err
	}
	cfg, _, configErr := c.load()
	sessions := []view.Session{}
	for _, v := range known {
		if configErr == nil { // without a configuration its number of tries is unknown
			v.MaxRetries = cfg.Policy(v.Agent, v.Class).MaxRetries
		}
		v.Remedy = agents.Remedy(v)
		if (all || len(args) == 1 || v.Interrupted()) && (which == nil || which(v)) {
			sessions = append(sessions, v)
		}
	}
	if len(args) == 1 {
		session, err := view.Find(sessions, args[0])
		if err != nil {
			return nil // only "no daemon" can be reported
		}
		sessions = []view.Session{session}
	}
	switch {
	case c.json:
		return c.printJSON(map[string]any{
			"version": 1, "now": time.Now().UTC(), "daemon": nil, "accounts": []any{}, "sessions": sessions,
		})
	case len(sessions) == 0:
		return nil
	}
	now := time.Now()
	view := c.page()
	text := view.Sessions(sessions)
	if len(args) == 1 {
		text = view.Session(sessions[0])
	}
	return c.show(fmt.Sprintf("This is what the last daemon saved at %s:\n\n%s\n", humanize.Clock(written, now), text))
}
