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

// each visits the messages that a condition selects, in its order.
func (db *database) each(ctx context.Context, visit func(message) error, where string, args ...any) error {
	rows, err := db.QueryContext(ctx, "SELECT "+db.messageColumns()+" FROM message "+where, args...)
	if err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m message
		var created, updated any
		var data []byte
		var long sql.NullBool // nothing at all has no length
		if err := rows.Scan(&m.row, &m.id, &m.session, &created, &updated, &data, &long); err != nil {
			return fmt.Errorf("read message: %w", err)
		}
		m.createdMS, m.long = number(created), long.Bool
		m.said = Read(data, m.createdMS, number(updated)).trimmed()
		if err := visit(m); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	return nil
}

// one returns the message whose column has that value, or false where there is
// none.
func (db *database) one(ctx context.Context, column string, value any) (found message, ok bool, err error) {
	err = db.each(ctx, func(m message) error {
		found, ok = m, true
		return nil
	}, "WHERE "+column+" = ? LIMIT 1", value)
	return found, ok, err
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

// ref is where a message stands.
type ref struct {
	row       int64
	id        string
	createdMS int64
}

func (r ref) compare(o ref) int {
	return cmp.Or(cmp.Compare(r.createdMS, o.createdMS), cmp.Compare(r.id, o.id))
}

// kept is how many of a session's last messages are looked at. The last one may
// be open and the one before it cut off by a compaction: then a prompt follows.
const kept = 6

// ends returns the last messages of each session, oldest first, and the last
// row of all. It reads no data: one walk through an index, where there is one.
func (db *database) ends(ctx context.Context) (bySession map[string][]ref, last ref, err error) {
	rows, err := db.QueryContext(ctx,
		"SELECT rowid, "+db.pick("message", "id", "''")+", "+db.pick("message", "session_id", "''")+", "+
			db.pick("message", "time_created", "0")+" FROM message")
	if err != nil {
		return nil, ref{}, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	bySession = make(map[string][]ref)
	for rows.Next() {
		var r ref
		var session string
		var created any
		if err := rows.Scan(&r.row, &r.id, &session, &created); err != nil {
			return nil, ref{}, fmt.Errorf("read message: %w", err)
		}
		r.createdMS = number(created)
		if r.row > last.row {
			last = r
		}
		bySession[session] = keepLast(bySession[session], r)
	}
	if err := rows.Err(); err != nil {
		return nil, ref{}, fmt.Errorf("read messages: %w", err)
	}
	return bySession, last, nil
}

func keepLast(refs []ref, r ref) []ref {
	at, _ := slices.BinarySearchFunc(refs, r, ref.compare)
	refs = slices.Insert(refs, at, r)
	return refs[max(0, len(refs)-kept):]
}

// latest returns the last messages of one session, newest first.
func (db *database) latest(ctx context.Context, session string) ([]message, error) {
	var all []message
	err := db.each(ctx, func(m message) error {
		all = append(all, m)
		return nil
	}, fmt.Sprintf("WHERE session_id = ? ORDER BY 4 DESC, 2 DESC LIMIT %d", kept), session)
	return all, err
}

var errEnough = errors.New("enough was read")

// lastPrompt returns what a session was asked last.
func (db *database) lastPrompt(ctx context.Context, session string) (last record, err error) {
	err = db.each(ctx, func(m message) error {
		if m.said.meaning != prompted {
			return nil
		}
		last = m.said.record
		return errEnough
	}, "WHERE session_id = ? ORDER BY 4 DESC, 2 DESC", session)
	if errors.Is(err, errEnough) {
		err = nil
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
