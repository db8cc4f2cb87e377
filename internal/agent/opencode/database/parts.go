package database

import (
	"context"
	"database/sql"
	"slices"
)

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

// partsOf returns the parts of a message.
func (db *DB) partsOf(ctx context.Context, m Message) ([]part, error) {
	if db.Two() {
		return m.parts, nil
	}
	return db.parts(ctx, "m.id = ?", m.ID)
}

// byItself reports whether opencode itself created a prompt.
func (db *DB) byItself(ctx context.Context, m Message) (bool, error) {
	parts, err := db.partsOf(ctx, m)
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return !p.own() }), err
}
