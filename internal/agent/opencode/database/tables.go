package database

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"strings"

	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// needed are the columns that a database of opencode must have.
var needed = []string{"session.id", "message.id", "message.session_id", "message.data"}

// describe lists the columns, which differ between versions.
func (db *DB) describe(ctx context.Context) error {
	name := func(rows *sql.Rows) (name string, err error) {
		err = rows.Scan(&name)
		return name, err
	}
	for name, err := range rowsOf(ctx, db, name, `
		SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name IN ('session', 'message', 'part')`) {
		if err != nil {
			return err
		}
		db.columns[name] = true
	}
	for _, name := range needed {
		if !db.columns[name] {
			return fmt.Errorf("read database: it is not one of opencode's kind: it has no %s", name)
		}
	}
	return nil
}

// A row may contain anything. SQLite knows the length of a value without reading it, and values that are
// too long are not read.
const (
	MaxRecord = 4 << 20 // the record of a message or a part
	maxWord   = 4 << 10 // an id, a directory, a time
)

// bounded returns the expression for a column whose value may be too long.
func bounded(column string, bytes int, otherwise string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) <= %[2]d THEN %[1]s ELSE %[3]s END", column, bytes, otherwise)
}

// pick returns the expression for a column that may be missing.
func (db *DB) pick(table, column, otherwise string) string {
	if db.columns[table+"."+column] {
		return bounded(column, maxWord, otherwise)
	}
	return otherwise
}

// number returns the value of a numeric column, or 0: SQLite does not enforce types.
func number(value any) int64 {
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return millis(n)
	default:
		return 0
	}
}

// Session is one row of the table session.
type Session struct {
	ID        string
	Parent    string // of a child session
	Directory string
	CreatedMS int64
	Archived  bool
	Agent     string // opencode's own agent that works on it: each has its own permissions
	rules     string // its own permissions, besides the agent's, as JSON
}

// Kind returns whether the session is headless or interactive: one started by `opencode run` must not ask
// questions. In versions without such rules it is "".
func (s Session) Kind() string {
	var rules []struct {
		Permission string `json:"permission"`
		Action     string `json:"action"`
	}
	if s.rules == "" || !lines.Decode([]byte(s.rules), &rules) {
		return ""
	}
	for _, rule := range rules {
		if rule.Permission == "question" && rule.Action == "deny" {
			return resume.Headless
		}
	}
	return resume.Interactive
}

func (db *DB) selectSessions() string {
	rules := db.pick("session", "permission", "''")
	if db.columns["session.permission"] {
		rules = "CASE WHEN permission IS NULL THEN '[]' ELSE " + rules + " END" // NULL means no rules
	}
	return "SELECT " + strings.Join([]string{
		db.pick("session", "id", "''"),
		db.pick("session", "parent_id", "''"),
		db.pick("session", "directory", "''"),
		db.pick("session", "time_created", "0"),
		db.pick("session", "time_archived", "0") + " <> 0",
		db.pick("session", "agent", "''"),
		rules,
	}, ", ") + " FROM session "
}

func scanSession(rows *sql.Rows) (s Session, err error) {
	var created any
	err = rows.Scan(&s.ID, &s.Parent, &s.Directory, &created, &s.Archived, &s.Agent, &s.rules)
	s.CreatedMS = number(created)
	return s, err
}

// Sessions returns the sessions that match a condition, oldest first.
func (db *DB) Sessions(ctx context.Context, where string, args ...any) ([]Session, error) {
	all, err := collect(rowsOf(ctx, db, scanSession, db.selectSessions()+where+"ORDER BY 4, 1", args...))
	return slices.DeleteFunc(all, func(s Session) bool { return s.ID == "" }), err // its id is too long
}

// messages returns the messages that match a condition, in its order.
func (db *DB) messages(ctx context.Context, where string, args ...any) iter.Seq2[Message, error] {
	scan := func(rows *sql.Rows) (Message, error) {
		var row int64
		var id, session string
		var created, updated any
		var data []byte
		var long sql.NullBool // NULL has no length
		err := rows.Scan(&row, &id, &session, &created, &updated, &data, &long)
		m := ReadMessage(data, number(created), number(updated))
		m.row, m.ID, m.Session, m.createdMS, m.long = row, id, session, number(created), long.Bool
		return m, err
	}
	return rowsOf(ctx, db, scan, "SELECT "+strings.Join([]string{
		"rowid",
		db.pick("message", "id", "''"),
		db.pick("message", "session_id", "''"),
		db.pick("message", "time_created", "0"),
		db.pick("message", "time_updated", "0"),
		bounded("data", MaxRecord, "NULL"),
		fmt.Sprintf("octet_length(data) > %d", MaxRecord),
	}, ", ")+" FROM message "+where, args...)
}

// order returns the order of a session's messages, by an index if there is one.
func (db *DB) order(direction string) string {
	if db.columns["message.time_created"] {
		return fmt.Sprintf(" ORDER BY time_created %[1]s, id %[1]s", direction)
	}
	return " ORDER BY id " + direction
}

// back returns the messages of a session that match a further condition, newest first.
func (db *DB) back(ctx context.Context, session, and string, args ...any) iter.Seq2[Message, error] {
	return db.messages(ctx, "WHERE session_id = ? "+and+db.order("DESC"), append([]any{session}, args...)...)
}

// message returns the first message that matches a condition, or a zero one.
func (db *DB) message(ctx context.Context, where string, args ...any) (Message, error) {
	for m, err := range db.messages(ctx, where, args...) {
		return m, err
	}
	return Message{}, nil
}

// DB is a database that is open for one reading.
type DB struct {
	*sqliteread.Database
	columns map[string]bool // by table.column
}

// rowsOf yields the rows of a query; an error is yielded last.
func rowsOf[T any](ctx context.Context, db *DB, scan func(*sql.Rows) (T, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(none, fmt.Errorf("read database: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			value, err := scan(rows)
			if err != nil {
				yield(none, fmt.Errorf("read row: %w", err))
				return
			}
			if !yield(value, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, fmt.Errorf("read database: %w", err))
		}
	}
}

func collect[T any](rows iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}
