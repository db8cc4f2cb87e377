package opencode

import (
	"context"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// Denied returns what a run was refused at last. A run without a terminal
// rejects by itself whatever it would have to ask for, and ends its turn there.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (d agent.Denial, denied bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, evidenceTimeout)
	defer cancel()
	err = sqliteread.Steadily(ctx, func(ctx context.Context) error {
		return readDatabase(ctx, s.Transcript, func(db *database) (err error) {
			d, denied, err = db.denied(ctx, s.Key.ID, run.Since.UnixMilli())
			return err
		})
	})
	return d, denied, err
}

func (db *database) denied(ctx context.Context, session string, sinceMS int64) (d agent.Denial, denied bool, err error) {
	messages, err := db.latest(ctx, session)
	if err != nil {
		return d, false, err
	}
	for _, m := range messages {
		said := m.said
		if said.meaning != moved || said.atMS < sinceMS {
			break // something else happened, or it was before the run
		}
		tools, err := db.parts(ctx, "m.id = ?", m.id)
		if err != nil {
			return d, false, err
		}
		tools = slices.DeleteFunc(tools, func(p part) bool { return p.Type != "tool" })
		if i := slices.IndexFunc(tools, part.denied); i >= 0 {
			return agent.Denial{Tool: tools[i].Tool, Use: agent.UseOf(tools[i].State.Input)}, true, nil
		}
		if len(tools) > 0 {
			break // it went on with other tools
		}
	}
	return d, false, nil
}

// denialWords are how opencode says that a tool was not allowed: nobody
// answered, or a rule of the user's forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using"}

// denied reports whether the part is a tool that was not allowed.
func (p part) denied() bool {
	return p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(p.State.Error, words)
	})
}
