package app

import (
	"context"
	"fmt"
	"strings"

	"resumed/internal/humanize"
	"resumed/internal/resume"
)

// sayFound says, when all that lies in the agents' homes was read, whose sessions
// were found, and where to look next: what somebody wants to know who starts a
// daemon for the first time.
func (d *daemon) sayFound(ctx context.Context) error {
	names := d.settings.Load().agentNames()
	for _, name := range names {
		if d.feeds.Await(ctx, name) != nil {
			return nil // it stops
		}
	}
	sessions, err := d.engine.Sessions(ctx)
	if err != nil {
		return nil
	}
	d.opts.Log.Info("found", "sessions", foundWords(names, sessions), "next", "resumed status, resumed doctor")
	return nil
}

// foundWords says how many sessions each agent has, and how many of them are
// stopped.
func foundWords(names []string, sessions []resume.Session) string {
	all, stopped := make(map[string]int), make(map[string]int)
	for _, s := range sessions {
		all[s.Key.Agent]++
		if s.Interrupted() {
			stopped[s.Key.Agent]++
		}
	}
	var words []string
	for _, name := range names {
		text := name + ": none"
		if n := all[name]; n > 0 {
			text = name + ": " + humanize.Count(n, "session")
		}
		if n := stopped[name]; n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
