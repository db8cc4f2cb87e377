package opencode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// database is a database of opencode that is open for one look.
type database struct {
	*sqliteread.Database
	columns map[string]map[string]bool
}

// openDatabase opens a database.
func openDatabase(ctx context.Context, path string) (*database, error) {
	look, err := sqliteread.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	db := &database{Database: look}
	if err := db.describe(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// readDatabase opens the database at path for one look. What a look reads counts only
// if the file did not change meanwhile.
func readDatabase(ctx context.Context, path string, read func(*database) error) (err error) {
	db, err := openDatabase(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := read(db); err != nil {
		return err
	}
	return db.Check()
}

// needed is what a database must have to be opencode's.
var needed = map[string][]string{
	"session": {"id"},
	"message": {"id", "session_id", "data"},
}

// describe learns which columns there are: they differ between versions.
func (db *database) describe(ctx context.Context) error {
	rows, err := db.QueryContext(ctx, `
		SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name IN ('session', 'message', 'part')`)
	if err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	defer rows.Close()
	db.columns = make(map[string]map[string]bool)
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return fmt.Errorf("read database: %w", err)
		}
		if db.columns[table] == nil {
			db.columns[table] = make(map[string]bool)
		}
		db.columns[table][column] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read database: %w", err)
	}
	for table, columns := range needed {
		for _, column := range columns {
			if !db.columns[table][column] {
				return fmt.Errorf("read database: it is not one of opencode's kind: it has no %s.%s", table, column)
			}
		}
	}
	return nil
}

// A row may hold anything. How long a value is, SQLite knows without reading it,
// and one that is too long is never read.
const (
	longest     = 4 << 20 // the record of a message or a part
	longestWord = 4 << 10 // an id, a directory, a time
)

// bounded returns the expression for a column whose value may be too long.
func bounded(column string, bytes int, otherwise string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) <= %[2]d THEN %[1]s ELSE %[3]s END", column, bytes, otherwise)
}

// pick returns the expression for a column that may be missing.
func (db *database) pick(table, column, otherwise string) string {
	if db.columns[table][column] {
		return bounded(column, longestWord, otherwise)
	}
	return otherwise
}

// conversation is one row of the table session.
type conversation struct {
	id        string
	parent    string // of a child session
	directory string
	createdMS int64
	archived  bool
	agent     string // which of opencode's agents works on it: each has its own permissions
	rules     string // its own permissions, beside the agent's, as JSON
	asked     record // its last prompt, where that was read
}

// kind says whether a person sits before the session: one that `opencode run`
// began may ask nobody anything. Versions without such rules do not tell.
func (c conversation) kind() string {
	var rules []struct {
		Permission string `json:"permission"`
		Action     string `json:"action"`
	}
	if c.rules == "" || !agent.Decode([]byte(c.rules), &rules) {
		return ""
	}
	for _, rule := range rules {
		if rule.Permission == "question" && rule.Action == "deny" {
			return resume.Headless
		}
	}
	return resume.Interactive
}

func (db *database) sessionColumns() string {
	return strings.Join([]string{
		db.pick("session", "id", "''"),
		db.pick("session", "parent_id", "''"),
		db.pick("session", "directory", "''"),
		db.pick("session", "time_created", "0"),
		db.pick("session", "time_archived", "0") + " <> 0",
		db.pick("session", "agent", "''"),
		db.ownRules(),
	}, ", ")
}

// ownRules is the expression for the permissions of a session; none are "[]".
func (db *database) ownRules() string {
	rules := db.pick("session", "permission", "''")
	if db.columns["session"]["permission"] {
		return "CASE WHEN permission IS NULL THEN '[]' ELSE " + rules + " END"
	}
	return rules
}

// conversations returns the sessions, oldest first.
func (db *database) conversations(ctx context.Context) ([]conversation, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+db.sessionColumns()+" FROM session ORDER BY 4, 1")
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	defer rows.Close()
	var all []conversation
	for rows.Next() {
		c, err := scanConversation(rows.Scan)
		if err != nil {
			return nil, err
		}
		if c.id != "" { // one that long is nobody's
			all = append(all, c)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return all, nil
}

// conversation returns one session, or false where it is not there.
func (db *database) conversation(ctx context.Context, id string) (conversation, bool, error) {
	row := db.QueryRowContext(ctx, "SELECT "+db.sessionColumns()+" FROM session WHERE id = ?", id)
	c, err := scanConversation(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return conversation{}, false, nil
	}
	return c, err == nil, err
}

func scanConversation(scan func(...any) error) (conversation, error) {
	var c conversation
	var created any // SQLite's columns hold what was put into them
	if err := scan(&c.id, &c.parent, &c.directory, &created, &c.archived, &c.agent, &c.rules); err != nil {
		return conversation{}, fmt.Errorf("read session: %w", err)
	}
	c.createdMS = number(created)
	return c, nil
}

func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return millis(n)
	default:
		return 0
	}
}
