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

// schema is how the tables of one major version are called, and which columns they must have.
type schema struct {
	sessionTable, messageTable string
	needed                     []string
}

var version1 = schema{"session", "message", []string{"session.id", "message.id", "message.session_id", "message.data"}}

// version2 are the tables of opencode 2. Those of version 1 stay in the file as they were when version 2 was
// first started: they do not tell the state of any session.
var version2 = schema{"session_v2", "session_message", []string{
	"session_v2.id", "session_message.id", "session_message.session_id", "session_message.type", "session_message.data",
}}

// Two reports whether it is a database of version 2.
func (db *DB) Two() bool { return db.messageTable == version2.messageTable }

// Turn says whether opencode works on a session, or continues it when its server starts. Only version 2
// stores that.
type Turn uint8

// The turns.
const (
	NotStored Turn = iota
	Taken          // opencode works on it, or its server continues it
	Over
)

// turn returns the expression for the turn of a session.
func (db *DB) turn() string {
	if !db.Two() || !db.columns["session_v2.time_suspended"] {
		return "0"
	}
	return "CASE WHEN " + db.pick(db.sessionTable, "time_suspended", "0") + " <> 0 THEN 1 ELSE 2 END"
}

// prompts returns the condition that excludes messages that precede the first prompt.
func (db *DB) prompts() string {
	if db.Two() {
		return " AND type = 'user'"
	}
	return ""
}

// describe lists the columns, which differ between versions.
func (db *DB) describe(ctx context.Context) error {
	name := func(rows *sql.Rows) (name string, err error) {
		err = rows.Scan(&name)
		return name, err
	}
	for name, err := range rowsOf(ctx, db, name, `
		SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name IN ('session', 'message', 'part', 'session_v2', 'session_message')`) {
		if err != nil {
			return err
		}
		db.columns[name] = true
		if strings.HasPrefix(name, version2.sessionTable+".") {
			db.schema = version2
		}
	}
	for _, name := range db.needed {
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

// Session is one row of the table of sessions.
type Session struct {
	ID        string
	Parent    string // of a child session
	Directory string
	CreatedMS int64
	Archived  bool
	Agent     string // opencode's own agent that works on it: each has its own permissions
	Turn      Turn
	Two       bool   // it is a session of version 2
	provider  string // of its model, in version 2: prompts have none there
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
	if db.Two() {
		rules = "''"
	} else if db.columns["session.permission"] {
		rules = "CASE WHEN permission IS NULL THEN '[]' ELSE " + rules + " END" // NULL means no rules
	}
	return "SELECT " + strings.Join([]string{
		db.pick(db.sessionTable, "id", "''"),
		db.pick(db.sessionTable, "parent_id", "''"),
		db.pick(db.sessionTable, "directory", "''"),
		db.pick(db.sessionTable, "time_created", "0"),
		db.pick(db.sessionTable, "time_archived", "0") + " <> 0",
		db.pick(db.sessionTable, "agent", "''"),
		rules,
		db.turn(),
		db.pick(db.sessionTable, "model", "''"),
	}, ", ") + " FROM " + db.sessionTable + " "
}

func (db *DB) scanSession(rows *sql.Rows) (s Session, err error) {
	var created any
	var model []byte
	err = rows.Scan(&s.ID, &s.Parent, &s.Directory, &created, &s.Archived, &s.Agent, &s.rules, &s.Turn, &model)
	s.CreatedMS, s.Two = number(created), db.Two()
	if s.Two {
		s.provider = providerOf(model)
	}
	return s, err
}

// Sessions returns the sessions that match a condition, oldest first.
func (db *DB) Sessions(ctx context.Context, where string, args ...any) ([]Session, error) {
	all, err := collect(rowsOf(ctx, db, db.scanSession, db.selectSessions()+where+"ORDER BY 4, 1", args...))
	return slices.DeleteFunc(all, func(s Session) bool { return s.ID == "" }), err // its id is too long
}

// messages returns the messages that match a condition, in its order.
func (db *DB) messages(ctx context.Context, where string, args ...any) iter.Seq2[Message, error] {
	scan := func(rows *sql.Rows) (Message, error) {
		var row int64
		var id, session, kind string
		var created, updated any
		var data []byte
		var long sql.NullBool // NULL has no length
		err := rows.Scan(&row, &id, &session, &kind, &created, &updated, &data, &long)
		read := ReadMessage
		if db.Two() {
			read = readMessage2(kind)
		}
		m := read(data, number(created), number(updated))
		m.row, m.ID, m.Session, m.createdMS, m.long = row, id, session, number(created), long.Bool && data == nil
		return m, err
	}
	return rowsOf(ctx, db, scan, "SELECT "+strings.Join([]string{
		"rowid",
		db.pick(db.messageTable, "id", "''"),
		db.pick(db.messageTable, "session_id", "''"),
		db.pick(db.messageTable, "type", "''"),
		db.pick(db.messageTable, "time_created", "0"),
		db.pick(db.messageTable, "time_updated", "0"),
		bounded("data", MaxRecord, db.shortened()),
		fmt.Sprintf("octet_length(data) > %d", MaxRecord),
	}, ", ")+" FROM "+db.messageTable+" "+where, args...)
}

// shortened returns the expression for the record of a message that is too long. In version 2 a record contains
// what tools answered: without that, it still says how a turn ended.
func (db *DB) shortened() string {
	if !db.Two() {
		return "NULL"
	}
	return fmt.Sprintf("CASE WHEN octet_length(data) <= %d AND json_valid(data) THEN json_remove(data, '$.content') END", 16*MaxRecord)
}

// order returns the order of a session's messages, by an index if there is one.
func (db *DB) order(direction string) string {
	if db.Two() && db.columns["session_message.seq"] {
		return " ORDER BY seq " + direction
	}
	if db.columns[db.messageTable+".time_created"] {
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
	schema
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
