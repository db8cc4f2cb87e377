package database

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"resumed/internal/agent"
)

// part is what is read of a part of a message.
type part struct {
	Type      string `json:"type"`
	Auto      bool   `json:"auto"` // of a compaction: no person asked for it
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // of a text: opencode wrote it

	Tool  string `json:"tool"` // that was called, with what became of it
	State struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

// compacts reports whether opencode compacts the session by itself at the part.
func (p part) compacts() bool { return p.Type == "compaction" && p.Auto }

// own reports whether opencode made the part of a prompt by itself: to compact
// the session, or to go on after that.
func (p part) own() bool { return p.compacts() || p.Type == "text" && p.Synthetic }

// denialWords are how opencode says that a tool was not allowed: no person
// answered, or a rule of the user's forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using"}

// denied reports whether the part is a tool that was not allowed.
func (p part) denied() bool {
	return p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(p.State.Error, words)
	})
}

// Compacts reports whether opencode compacts the session by itself at a part of a message.
func Compacts(data []byte) bool { return readPart(data).compacts() }

func readPart(data []byte) part {
	p, ok := agent.Parse[part](data)
	if !ok {
		return part{}
	}
	return p
}

// parts returns the parts of the messages that a condition selects, with no more of each
// than is asked for; none where the database has no such table. A part that is too long to be
// read is what a tool has printed, or a person has given: opencode did not make it by itself, and it was not refused.
func (db *DB) parts(ctx context.Context, where string, args ...any) ([]part, error) {
	if !db.columns["part"]["message_id"] || !db.columns["part"]["data"] {
		return nil, nil
	}
	scan := func(rows *sql.Rows) (part, error) {
		var data []byte
		if err := rows.Scan(&data); err != nil || data == nil {
			return part{Type: "tool"}, err
		}
		p := readPart(data)
		p.Text = clipped(p.Text)
		if !p.denied() {
			p.State.Input = nil
		}
		return p, nil
	}
	return collect(rowsOf(ctx, db, scan, "SELECT "+bounded("p.data", MaxRecord, "NULL")+
		" FROM message m JOIN part p ON p.message_id = m.id WHERE "+where, args...))
}

// A compaction begins this soon after the message that was cut off for it, in
// milliseconds; the two are written by one process, in either order.
const (
	CompactionBefore = 1_000
	CompactionAfter  = 60_000
)

// compacted reports whether the session was compacted right after the message:
// then it was cut off for that, and not by a person.
func (db *DB) compacted(ctx context.Context, m Message) (bool, error) {
	if !db.columns["message"]["time_created"] {
		return false, nil
	}
	parts, err := db.parts(ctx, "m.session_id = ? AND m.time_created BETWEEN ? AND ?",
		m.Session, m.AtMS-CompactionBefore, m.AtMS+CompactionAfter)
	return slices.ContainsFunc(parts, part.compacts), err
}

// byItself reports whether opencode gave a prompt to itself.
func (db *DB) byItself(ctx context.Context, m Message) (bool, error) {
	parts, err := db.parts(ctx, "m.id = ?", m.ID)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return !p.own() }), err
}
