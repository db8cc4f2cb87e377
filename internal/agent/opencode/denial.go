package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/peek"
	"resumed/internal/resume"
)

var _ agent.Denier = (*Agent)(nil)

// Denied returns what a run was refused at last. A run without a terminal
// rejects by itself whatever it would have to ask for, and ends its turn there.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (d agent.Denial, denied bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, evidenceTimeout)
	defer cancel()
	err = peek.Steadily(ctx, func(ctx context.Context) (err error) {
		d, denied, err = a.denied(ctx, s, run.Since.UnixMilli())
		return err
	})
	return d, denied, err
}

func (a *Agent) denied(ctx context.Context, s resume.Session, sinceMS int64) (d agent.Denial, denied bool, err error) {
	db, err := openDatabase(ctx, s.Transcript)
	if err != nil {
		return d, false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	messages, err := db.latest(ctx, s.Key.ID)
	if err != nil {
		return d, false, err
	}
	for _, m := range messages {
		said := m.read()
		if said.meaning != moved || said.atMS < sinceMS {
			break // something else happened, or it was before the run
		}
		tools, err := db.tools(ctx, m.id)
		if err != nil {
			return d, false, err
		}
		if i := slices.IndexFunc(tools, toolPart.denied); i >= 0 {
			return agent.Denial{Tool: tools[i].Tool, Use: agent.UseOf(tools[i].State.Input)}, true, db.Check()
		}
		if len(tools) > 0 {
			break // it went on with other tools
		}
	}
	return d, false, db.Check()
}

// toolPart is a tool that a message called, with what became of it.
type toolPart struct {
	Type  string `json:"type"`
	Tool  string `json:"tool"`
	State struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

// denialWords are how opencode says that a tool was not allowed: nobody
// answered, or a rule of the user's forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using"}

func (p toolPart) denied() bool {
	return p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(p.State.Error, words)
	})
}

// tools returns the tools that a message called.
func (db *database) tools(ctx context.Context, message string) ([]toolPart, error) {
	if !db.columns["part"]["message_id"] || !db.columns["part"]["data"] {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, "SELECT data FROM part WHERE message_id = ?", message)
	if err != nil {
		return nil, fmt.Errorf("read parts: %w", err)
	}
	defer rows.Close()
	var tools []toolPart
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, fmt.Errorf("read part: %w", err)
		}
		var p toolPart
		if json.Unmarshal(data, &p) == nil && p.Type == "tool" {
			tools = append(tools, p)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read parts: %w", err)
	}
	return tools, nil
}
