package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// missed is the note in a cursor that its file is missing.
type missed struct {
	GoneAt int64 `json:"gone_at"` // milliseconds; 0: the file was there at the last check
}

// pruneCursors removes cursors if their files have been missing for longer than keep. A file may come
// back, as with a disk that is not always mounted; so first it only stores since when the file is
// missing. A cursor that is put again has no such note.
func (s *Store) pruneCursors(ctx context.Context, keep time.Duration, now time.Time) error {
	gone, err := s.goneFiles(ctx)
	if err != nil {
		return fmt.Errorf("look for cursors of files that are gone: %w", judge(s.Path(), err))
	}
	for path, data := range gone {
		var m missed
		_ = json.Unmarshal([]byte(data), &m) // a bad note counts as missing from now on
		stmt, args := "", []any{path, data}
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
	return nil
}

// goneFiles returns the cursors of files that do not exist. Cursors of sources that are not files have
// no absolute path.
func (s *Store) goneFiles(ctx context.Context) (map[string]string, error) {
	paths, err := s.cursorPaths(ctx) // first all paths: the database has one connection, and a disk may be slow
	if err != nil {
		return nil, err
	}
	gone := make(map[string]string)
	for _, path := range paths {
		if _, err := os.Lstat(path); !filepath.IsAbs(path) || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cursor, known := s.Cursor(path)
		if text := string(cursor); known && strings.HasPrefix(strings.TrimSpace(text), "{") {
			gone[path] = text
		}
	}
	return gone, ctx.Err()
}

func (s *Store) cursorPaths(ctx context.Context) (paths []string, err error) {
	err = each(ctx, s.db, func(scan scan) error {
		var path string
		err := scan(&path)
		paths = append(paths, path)
		return err
	}, "SELECT path FROM cursor")
	return paths, err
}
