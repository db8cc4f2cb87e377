// Package database reads the databases of opencode and its forks. Only tables.go and parts.go depend on
// the tables, and message2.go on the records of version 2: everything else works with sessions and messages.
package database

import (
	"context"
	"errors"

	"resumed/internal/sqliteread"
)

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
