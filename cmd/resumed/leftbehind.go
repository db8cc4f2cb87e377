//go:build !windows

package main

import (
	"fmt"
	"os"
	"time"

	"resumed/internal/agents"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

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
