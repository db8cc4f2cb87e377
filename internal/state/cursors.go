package state

import (
	"context"
	"encoding/json"
	"errors"
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
