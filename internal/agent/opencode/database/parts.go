package database

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"resumed/internal/lines"
)

// part contains the used fields of a part of a message.
type part struct {
	Type      string `json:"type"`
	Auto      bool   `json:"auto"` // of a compaction: not requested by a person
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // of a text: written by opencode

	Tool  string `json:"tool"` // the called tool, with its result
	State struct {
		Status string         `json:"status"`
		Error  string         `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

// compacts reports whether the part is an automatic compaction.
func (p part) compacts() bool { return p.Type == "compaction" && p.Auto }

// own reports whether opencode itself created this part of a prompt, to compact the session or to continue
// after that.
func (p part) own() bool { return p.compacts() || p.Type == "text" && p.Synthetic }

// denialWords are how opencode reports that a tool was not allowed: no person answered, or a rule of the
// user forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using"}

// denied reports whether the part is a tool that was not allowed.
func (p part) denied() bool {
	return p.Type == "tool" && p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(p.State.Error, words)
	})
}

// Compacts reports whether a part of a message is an automatic compaction.
func Compacts(data []byte) bool { return readPart(data).compacts() }

func readPart(data []byte) part {
	p, ok := lines.Parse[part](data)
	if !ok {
		return part{}
	}
	return p
}

// parts returns the parts of the messages that match a condition, without large fields that are not needed;
// none if the database has no such table. A part that is too long to be read is output of a tool or a
// person's text: it counts as neither created by opencode nor refused.
func (db *DB) parts(ctx context.Context, where string, args ...any) ([]part, error) {
	if !db.columns["part.message_id"] || !db.columns["part.data"] {
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

// The time in milliseconds between a message that was cut off for a compaction and the compaction. One
// process writes both, in either order.
const (
	CompactionBefore = 1_000
	CompactionAfter  = 60_000
)

// compacted reports whether a compaction follows the message: then that cut it off, not a person.
func (db *DB) compacted(ctx context.Context, m Message) (bool, error) {
	if !db.columns["message.time_created"] {
		return false, nil
	}
	parts, err := db.parts(ctx, "m.session_id = ? AND m.time_created BETWEEN ? AND ?",
		m.Session, m.AtMS-CompactionBefore, m.AtMS+CompactionAfter)
	return slices.ContainsFunc(parts, part.compacts), err
}

// byItself reports whether opencode itself created a prompt.
func (db *DB) byItself(ctx context.Context, m Message) (bool, error) {
	parts, err := db.parts(ctx, "m.id = ?", m.ID)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return !p.own() }), err
}
