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
	defer close(d.looked)
	names := d.settings.Load().agentNames()
	for _, name := range names {
		if d.feeds.Await(ctx, name) != nil {
			return nil // it stops
		}
	}
	tallies, err := d.engine.Tallies(ctx)
	if err != nil {
		return nil
	}
	d.opts.Log.Info("found", "sessions", foundWords(names, tallies), "next", "resumed status, resumed doctor")
	return nil
}

// foundWords says how many sessions each agent has, and how many of them are
// stopped.
func foundWords(names []string, tallies map[string]resume.Tally) string {
	var words []string
	for _, name := range names {
		tally, text := tallies[name], name+": none"
		if n := tally.Known(); n > 0 {
			text = name + ": " + humanize.Count(n, "session")
		}
		if n := tally.Stopped(); n > 0 {
			text += fmt.Sprintf(" (%d stopped)", n)
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
