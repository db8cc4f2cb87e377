package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"resumed/internal/resume"
	"resumed/internal/sqliteread"
)

// queueFiles are the databases of queued messages. The number in their name is the schema version.
const queueFiles = "queue_*.sqlite"

// Queued reports whether a message is queued for the session. The next process that opens the session
// takes it, even a run with its own prompt: the session would get two prompts.
func (a *Agent) Queued(ctx context.Context, s resume.Session) (bool, error) {
	root := a.Homes.Of(s.Transcript)
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for queued messages: %w", err)
	}
	for _, entry := range entries {
		if is, _ := filepath.Match(queueFiles, entry.Name()); !is {
			continue
		}
		var waits bool
		err := sqliteread.Steadily(ctx, func(ctx context.Context) (err error) {
			waits, err = waitsIn(ctx, filepath.Join(root, entry.Name()), s.Key.ID)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("look for queued messages in %s: %w", entry.Name(), err)
		}
		if waits {
			return true, nil
		}
	}
	return false, nil
}

// waitsIn searches one database. It returns false for an unknown schema.
func waitsIn(ctx context.Context, path, thread string) (waits bool, err error) {
	db, err := sqliteread.Open(ctx, path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const known = "SELECT count(*) FROM pragma_table_info('queued_items') WHERE name = 'thread_id'"
	const waiting = "SELECT count(*) FROM queued_items WHERE thread_id = ?"
	var n int
	if err := db.QueryRowContext(ctx, known).Scan(&n); err != nil || n == 0 {
		return false, err
	}
	if err := db.QueryRowContext(ctx, waiting, thread).Scan(&n); err != nil {
		return false, err
	}
	return n > 0, db.Check()
}

const alreadyQueued = "a message already waits in Codex's queue for this session, and is sent when the session is opened: open it, or take the message back"
