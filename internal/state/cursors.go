package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A cursor is the position up to which a file was read. At a start there may be one for each session.

// allCursors returns the cursors that are on disk, by path.
func (s *Store) allCursors(ctx context.Context) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	err := each(ctx, s.db, func(scan scan) error {
		var path string
		var data []byte
		err := scan(&path, &data)
		all[path] = data
		return err
	}, "SELECT path, data FROM cursor")
	return all, err
}

// PutCursor queues the position up to which the file was read, as JSON. It is never on disk before what
// was queued earlier. The caller must not change it afterwards.
func (s *Store) PutCursor(path string, cursor json.RawMessage) {
	s.enqueue(op{
		key:  "cursor\x00" + path,
		stmt: "INSERT INTO cursor (path, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data",
		args: func() ([]any, error) {
			if !json.Valid(cursor) {
				return nil, errors.New("the cursor is not JSON")
			}
			return []any{path, string(cursor)}, nil
		},
	})
}

// Cursor returns the cursor of the file that is on disk. A cursor that is not valid JSON counts as not
// known.
func (s *Store) Cursor(path string) (cursor json.RawMessage, known bool) {
	err := s.db.QueryRow("SELECT data FROM cursor WHERE path = ?", path).Scan((*[]byte)(&cursor))
	return cursor, err == nil && json.Valid(cursor)
}

// missed is the note in a cursor that its file is missing.
type missed struct {
	GoneAt int64 `json:"gone_at"` // milliseconds; 0: the file was there at the last check
}

// pruneCursors removes cursors if their files have been missing for longer than keep. A file may come
// back, as with a disk that is not always mounted; so first it only stores since when the file is
// missing. A cursor that is put again has no such note.
func (s *Store) pruneCursors(ctx context.Context, keep time.Duration, now time.Time) error {
	all, err := s.allCursors(ctx) // first all of them: the database has one connection, and a disk may be slow
	if err != nil {
		return fmt.Errorf("look for cursors of files that are gone: %w", judge(s.Path(), err))
	}
	for path, data := range all {
		// Cursors of sources that are not files have no absolute path.
		_, err := os.Lstat(path)
		if !filepath.IsAbs(path) || !errors.Is(err, fs.ErrNotExist) || !json.Valid(data) || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			continue
		}
		var m missed
		_ = json.Unmarshal(data, &m) // a bad note counts as missing from now on
		stmt, args := "", []any{path, string(data)}
		switch {
		case m.GoneAt == 0:
			stmt, args = "UPDATE cursor SET data = json_set(data, '$.gone_at', ?) WHERE path = ? AND data = ?", append([]any{millis(now)}, args...)
		case now.Sub(fromMillis(m.GoneAt)) > keep:
			stmt = "DELETE FROM cursor WHERE path = ? AND data = ?"
		default:
			continue
		}
		// A key of its own: it must not replace a newer cursor in the queue, and has no effect if there
		// is one.
		s.enqueue(op{key: "gone\x00" + path, stmt: stmt, args: given(args...)})
	}
	return ctx.Err()
}
