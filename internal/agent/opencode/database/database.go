// Package database reads the databases of opencode and of the programs that were made of
// it. What is known of their tables is in tables.go and parts.go: the rest of the package, and
// all rooms above it, work with sessions and messages alone, so that tables of another
// version are one more such file.
package database

import (
	"context"
	"errors"

	"resumed/internal/sqliteread"
)

// Read opens the database at path for one reading. What was read counts only if the file
// did not change meanwhile.
func Read(ctx context.Context, path string, read func(*DB) error) (err error) {
	opened, err := sqliteread.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	db := &DB{Database: opened, columns: make(map[string]map[string]bool)}
	if err := db.describe(ctx); err != nil {
		return err
	}
	if err := read(db); err != nil {
		return err
	}
	return db.Check()
}

// ReadSteadily is Read, and reads again where another program wrote meanwhile.
func ReadSteadily(ctx context.Context, path string, read func(*DB) error) error {
	return sqliteread.Steadily(ctx, func(ctx context.Context) error { return Read(ctx, path, read) })
}
