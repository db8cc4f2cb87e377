// Package database reads the databases of opencode and its forks. Only tables.go depends on the tables:
// everything else works with sessions and messages.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"resumed/internal/lines"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// DB is a database that is open for one reading.
type DB struct {
	*sqliteread.Database
	schema
	columns map[string]bool // by table.column
}

// Read opens the database at path for one reading, which fails if the file changed meanwhile.
func Read(ctx context.Context, path string, read func(*DB) error) (err error) {
	opened, err := sqliteread.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	db := &DB{Database: opened, schema: version1, columns: make(map[string]bool)}
	if err := db.describe(ctx); err != nil {
		return err
	}
	if err := read(db); err != nil {
		return err
	}
	return db.Check()
}

// ReadSteadily is Read with retries if another program wrote meanwhile.
func ReadSteadily(ctx context.Context, path string, read func(*DB) error) error {
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return Read(ctx, path, read) })
}

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

// IsVersion2 reports whether it is a database of version 2.
func (db *DB) IsVersion2() bool { return db.messageTable == version2.messageTable }

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

// Turn says whether opencode works on a session, or continues it later. Only version 2 stores that.
type Turn uint8

// The turns.
const (
	NotStored Turn = iota
	Taken          // opencode works on it, or its server continues it
	Over
)

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

// WhyLeft returns why a session is always ignored, or "".
func WhyLeft(parent string, archived bool) string {
	switch {
	case parent != "":
		return "a child session: its parent goes on by itself"
	case archived:
		return "its user archived it"
	default:
		return ""
	}
}

// Sessions returns the sessions that match a condition, oldest first.
func (db *DB) Sessions(ctx context.Context, where string, args ...any) ([]Session, error) {
	pick := func(column, otherwise string) string { return db.pick(db.sessionTable, column, otherwise) }
	rules, turn := pick("permission", "''"), "0"
	switch {
	case db.IsVersion2():
		rules = "''"
		if db.columns["session_v2.time_suspended"] {
			turn = "CASE WHEN " + pick("time_suspended", "0") + " <> 0 THEN 1 ELSE 2 END"
		}
	case db.columns["session.permission"]:
		rules = "CASE WHEN permission IS NULL THEN '[]' ELSE " + rules + " END" // NULL means no rules
	}
	scan := func(rows *sql.Rows) (s Session, err error) {
		var created any
		var model []byte
		err = rows.Scan(&s.ID, &s.Parent, &s.Directory, &created, &s.Archived, &s.Agent, &s.rules, &s.Turn, &model)
		s.CreatedMS, s.Two = number(created), db.IsVersion2()
		if s.Two {
			m, _ := lines.Parse[struct {
				Provider string `json:"providerID"`
			}](model) // a session may have none
			s.provider = m.Provider
		}
		return s, err
	}
	all, err := collect(rowsOf(ctx, db, scan, "SELECT "+strings.Join([]string{
		pick("id", "''"), pick("parent_id", "''"), pick("directory", "''"), pick("time_created", "0"),
		pick("time_archived", "0") + " <> 0", pick("agent", "''"), rules, turn, pick("model", "''"),
	}, ", ")+" FROM "+db.sessionTable+" "+where+"ORDER BY 4, 1", args...))
	return slices.DeleteFunc(all, func(s Session) bool { return s.ID == "" }), err // its id is too long
}

func (db *DB) messages(ctx context.Context, where string, args ...any) iter.Seq2[Message, error] {
	scan := func(rows *sql.Rows) (m Message, err error) {
		var row int64
		var id, session, kind string
		var created, updated any
		var data []byte
		var long sql.NullBool // NULL has no length
		err = rows.Scan(&row, &id, &session, &kind, &created, &updated, &data, &long)
		if db.IsVersion2() {
			m = readMessage2(kind, data, number(created), number(updated))
		} else {
			m = ReadMessage(data, number(created), number(updated))
		}
		m.row, m.ID, m.Session, m.createdMS, m.long = row, id, session, number(created), long.Bool && data == nil
		return m, err
	}
	pick := func(column, otherwise string) string { return db.pick(db.messageTable, column, otherwise) }
	shortened := "NULL"
	if db.IsVersion2() { // a record contains what tools answered: without that, it still says how a turn ended
		shortened = fmt.Sprintf("CASE WHEN octet_length(data) <= %d AND json_valid(data) THEN json_remove(data, '$.content') END", 16*MaxRecord)
	}
	return rowsOf(ctx, db, scan, "SELECT "+strings.Join([]string{
		"rowid", pick("id", "''"), pick("session_id", "''"), pick("type", "''"), pick("time_created", "0"), pick("time_updated", "0"),
		bounded("data", MaxRecord, shortened), fmt.Sprintf("octet_length(data) > %d", MaxRecord),
	}, ", ")+" FROM "+db.messageTable+" "+where, args...)
}

// order returns the order of a session's messages, by an index if there is one.
func (db *DB) order(direction string) string {
	if db.IsVersion2() && db.columns["session_message.seq"] {
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

func (db *DB) message(ctx context.Context, where string, args ...any) (Message, error) {
	for m, err := range db.messages(ctx, where, args...) {
		return m, err
	}
	return Message{}, nil
}

// selectParts returns the parts of the messages that match a condition; none if the database has no such table. A part
// that is too long to be read is output of a tool or a person's text: it counts as neither created by opencode nor
// refused.
func (db *DB) selectParts(ctx context.Context, where string, args ...any) ([]part, error) {
	if !db.columns["part.message_id"] || !db.columns["part.data"] {
		return nil, nil
	}
	scan := func(rows *sql.Rows) (part, error) {
		var data []byte
		if err := rows.Scan(&data); err != nil || data == nil {
			return part{Type: "tool"}, err
		}
		p, _ := lines.Parse[part](data)
		return p.clipped(), nil
	}
	return collect(rowsOf(ctx, db, scan, "SELECT "+bounded("p.data", MaxRecord, "NULL")+
		" FROM message m JOIN part p ON p.message_id = m.id WHERE "+where, args...))
}

func (db *DB) partsOf(ctx context.Context, m Message) ([]part, error) {
	if db.IsVersion2() {
		return m.parts, nil
	}
	return db.selectParts(ctx, "m.id = ?", m.ID)
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
