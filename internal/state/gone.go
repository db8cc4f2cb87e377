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
