package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A cursor is the position up to which a file was read. At a start there may be one for each session.

func (s *Store) loadCursors(snap *Snapshot) error {
	return each(context.Background(), s.db, func(scan scan) error {
		var path string
		var data []byte
		if err := scan(&path, &data); err != nil {
			return err
		}
		if json.Valid(data) {
			snap.Cursors[path] = data
		} else {
			snap.Skipped = append(snap.Skipped, fmt.Errorf("read cursor of %q: not JSON", path))
		}
		return nil
	}, "SELECT path, data FROM cursor")
}

// PutCursor queues the position up to which the file was read, as JSON. It is never on disk before what
// was queued earlier. The caller must not change it afterwards.
func (s *Store) PutCursor(path string, cursor json.RawMessage) {
	if cursor == nil {
		cursor = json.RawMessage{} // not valid JSON: refused when it is written
	}
	s.moveCursor(path, cursor)
}

// DropCursor queues the removal of a cursor.
func (s *Store) DropCursor(path string) { s.moveCursor(path, nil) }

func (s *Store) moveCursor(path string, cursor json.RawMessage) {
	s.mu.Lock()
	s.queue.move(path, cursor)
	s.mu.Unlock()
	s.wake()
}

// Cursor returns the cursor of the file that is on disk. A cursor that is not valid JSON counts as not
// known.
func (s *Store) Cursor(path string) (cursor json.RawMessage, known bool) {
	err := s.db.QueryRow("SELECT data FROM cursor WHERE path = ?", path).Scan((*[]byte)(&cursor))
	return cursor, err == nil && json.Valid(cursor)
}

const dropCursor = "DELETE FROM cursor WHERE path = ?"

var cursorRows = newRows("cursor (path, data)", 2, " ON CONFLICT DO UPDATE SET data = excluded.data")

// move writes cursors in the order of their paths.
func (w *writer) move(cursors map[string]json.RawMessage) error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(cursors)) {
		cursor := cursors[path]
		if w.store.refuse("cursor\x00", path, validity(cursor)) {
			continue
		}
		var err error
		if cursor == nil {
			err = w.run(dropCursor, path)
		} else {
			err = w.put(cursorRows, path, string(cursor))
		}
		if err != nil {
			return err
		}
	}
	return w.flush()
}

func validity(cursor json.RawMessage) error {
	if cursor != nil && !json.Valid(cursor) {
		return errors.New("the cursor is not JSON")
	}
	return nil
}
