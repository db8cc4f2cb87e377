// Package database reads the databases of opencode and its forks. Only tables.go and parts.go depend on
// the tables: everything else works with sessions and messages, so the tables of another version need
// just one more such file.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"resumed/internal/sqliteread"
)

// Read opens the database at path for one reading, which fails if the file changed meanwhile.
func Read(ctx context.Context, path string, read func(*DB) error) (err error) {
	opened, err := sqliteread.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	db := &DB{Database: opened, columns: make(map[string]bool)}
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
