package opencode

import (
	"context"
	"fmt"

	"resumed/internal/agent"
)

// part is what is read of a part of a message.
type part struct {
	Type      string `json:"type"`
	Auto      bool   `json:"auto"` // of a compaction: nobody asked for it
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // of a text: opencode wrote it

	Tool  string `json:"tool"` // that was called, with what became of it
	State struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

// compacts reports whether the part is where opencode compacts the session by
// itself.
func (p part) compacts() bool { return p.Type == "compaction" && p.Auto }

// own reports whether opencode made the part of a prompt by itself: to compact
// the session, or to go on after that.
func (p part) own() bool { return p.compacts() || p.Type == "text" && p.Synthetic }

// Compacts reports whether a part of a message is where opencode compacts the
// session by itself.
func Compacts(part []byte) bool { return readPart(part).compacts() }

func readPart(data []byte) part {
	var p part
	if !agent.Decode(data, &p) {
		return part{}
	}
	return p
}

// brief reads a part and keeps no more of it than is asked for. One that was too
// long to be read is what a tool has printed, or a person has given: it is
// nothing of opencode's own, and nothing that was refused.
func brief(data []byte) part {
	if data == nil {
		return part{Type: "tool"}
	}
	p := readPart(data)
	p.Text = clipped(p.Text)
	if !p.denied() {
		p.State.Input = nil
	}
	return p
}

// parts returns the parts of the messages that a condition selects; none where
// the database has no such table.
func (db *database) parts(ctx context.Context, where string, args ...any) ([]part, error) {
	if !db.columns["part"]["message_id"] || !db.columns["part"]["data"] {
		return nil, nil
	}
	rows, err := db.QueryContext(ctx, "SELECT "+bounded("p.data", longest, "NULL")+" FROM message m JOIN part p ON p.message_id = m.id WHERE "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read parts: %w", err)
	}
	defer rows.Close()
	var all []part
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, fmt.Errorf("read part: %w", err)
		}
		all = append(all, brief(data))
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read parts: %w", err)
	}
	return all, nil
}
