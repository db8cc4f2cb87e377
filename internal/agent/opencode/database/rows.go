package database

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"resumed/internal/sqliteread"
)

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
