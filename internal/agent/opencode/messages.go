package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (db *database) messageColumns() string {
	return strings.Join([]string{
		"rowid",
		db.pick("message", "id", "''"),
		db.pick("message", "session_id", "''"),
		db.pick("message", "time_created", "0"),
		db.pick("message", "time_updated", "0"),
		bounded("data", longest, "NULL"),
		fmt.Sprintf("octet_length(data) > %d", longest),
	}, ", ")
}

// messages returns the messages that a condition selects, in its order.
func (db *database) messages(ctx context.Context, where string, args ...any) ([]message, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+db.messageColumns()+" FROM message "+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	var all []message
	for rows.Next() {
		var m message
		var created, updated any
		var data []byte
		var long sql.NullBool // NULL has no length
		if err := rows.Scan(&m.row, &m.id, &m.session, &created, &updated, &data, &long); err != nil {
			return nil, fmt.Errorf("read message: %w", err)
		}
		m.createdMS, m.long = number(created), long.Bool
		m.said = Read(data, m.createdMS, number(updated)).trimmed()
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return all, nil
}

// rowIs reports whether the row of that number is the message of that id: rows
// are numbered anew when messages are taken back or the database is compacted.
func (db *database) rowIs(ctx context.Context, row int64, id string) (bool, error) {
	var same bool
	err := db.QueryRowContext(ctx, "SELECT "+db.pick("message", "id", "''")+" = ? FROM message WHERE rowid = ?", id, row).Scan(&same)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("read message: %w", err)
	}
	return same, nil
}

// lastRow returns the number of the last row; 0 where there is none.
func (db *database) lastRow(ctx context.Context) (int64, error) {
	var row int64
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM message").Scan(&row); err != nil {
		return 0, fmt.Errorf("read messages: %w", err)
	}
	return row, nil
}

// compare orders the messages of a session by time.
func (m message) compare(o message) int {
	return cmp.Or(cmp.Compare(m.createdMS, o.createdMS), cmp.Compare(m.id, o.id))
}

// kept is how many of a session's last messages are looked at. The last one may
// be open and the one before it cut off by a compaction: then a prompt follows.
const kept = 6

// ends returns the last messages of each session, oldest first, and the last
// row of all, without what they say. It reads no data: one walk through an index, if
// there is one.
func (db *database) ends(ctx context.Context) (bySession map[string][]message, last message, err error) {
	rows, err := db.QueryContext(ctx,
		"SELECT rowid, "+db.pick("message", "id", "''")+", "+db.pick("message", "session_id", "''")+", "+
			db.pick("message", "time_created", "0")+" FROM message")
	if err != nil {
		return nil, last, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	bySession = make(map[string][]message)
	for rows.Next() {
		var m message
		var created any
		if err := rows.Scan(&m.row, &m.id, &m.session, &created); err != nil {
			return nil, last, fmt.Errorf("read message: %w", err)
		}
		m.createdMS = number(created)
		if m.row > last.row {
			last = m
		}
		bySession[m.session] = keepLast(bySession[m.session], m)
	}
	if err := rows.Err(); err != nil {
		return nil, last, fmt.Errorf("read messages: %w", err)
	}
	return bySession, last, nil
}

func keepLast(messages []message, m message) []message {
	at, _ := slices.BinarySearchFunc(messages, m, message.compare)
	messages = slices.Insert(messages, at, m)
	return messages[max(0, len(messages)-kept):]
}

// latest returns the last messages of one session, newest first.
func (db *database) latest(ctx context.Context, session string) ([]message, error) {
	return db.messages(ctx, fmt.Sprintf("WHERE session_id = ? ORDER BY 4 DESC, 2 DESC LIMIT %d", kept), session)
}

// lastPrompt returns what a session was asked last.
func (db *database) lastPrompt(ctx context.Context, session string) (last record, err error) {
	role := fmt.Sprintf("CASE WHEN octet_length(data) <= %d AND json_valid(data) THEN json_extract(data, '$.role') END", longest)
	latest, err := db.messages(ctx, fmt.Sprintf("WHERE session_id = ? AND %s = 'user' ORDER BY 4 DESC, 2 DESC LIMIT %d", role, kept), session)
	if at := slices.IndexFunc(latest, func(m message) bool { return m.said.meaning == prompted }); at >= 0 {
		last = latest[at].said.record
	}
	return last, err
}

// A compaction begins this soon after the message that was cut off for it, in
// milliseconds; the two are written by one process, in either order.
const (
	CompactionBefore = 1_000
	CompactionAfter  = 60_000
)

// compacted reports whether the session was compacted right after the message:
// then it was cut off for that, and not by a person.
func (db *database) compacted(ctx context.Context, session string, atMS int64) (bool, error) {
	if !db.columns["message"]["time_created"] {
		return false, nil
	}
	parts, err := db.parts(ctx, "m.session_id = ? AND m.time_created BETWEEN ? AND ?",
		session, atMS-CompactionBefore, atMS+CompactionAfter)
	return slices.ContainsFunc(parts, part.compacts), err
}
