package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
)

// Snapshot is what was stored when the last daemon ended.
type Snapshot struct {
	Sessions []resume.Session
	Cursors  map[string]json.RawMessage // by path
	Paused   bool                       // everything is paused, not only one session
	AliveAt  time.Time                  // when a daemon last ran; zero: not known
	Skipped  []error                    // one for each record that could not be read

	lost []string // the ids of the sessions among Skipped
}

// Load returns what is on disk. A record that cannot be read is skipped and reported; it stays on disk
// until a newer one replaces it.
func (s *Store) Load() (Snapshot, error) {
	alive, _ := s.Value(aliveKey)
	snap := Snapshot{Paused: s.Paused()}
	snap.AliveAt, _ = time.Parse(time.RFC3339, string(alive)) // an invalid time counts as none
	if err := s.loadSessions(&snap); err != nil {
		return Snapshot{}, fmt.Errorf("load sessions: %w", judge(s.Path(), err))
	}
	var err error
	if snap.Cursors, err = s.allCursors(context.Background()); err != nil {
		return Snapshot{}, fmt.Errorf("load cursors: %w", judge(s.Path(), err))
	}
	// The transcript of a lost session, which has its id in its name for most agents, is read from the
	// start.
	maps.DeleteFunc(snap.Cursors, func(path string, cursor json.RawMessage) bool {
		if !json.Valid(cursor) {
			snap.Skipped = append(snap.Skipped, fmt.Errorf("read cursor of %q: not JSON", path))
			return true
		}
		return slices.ContainsFunc(snap.lost, func(id string) bool { return strings.Contains(filepath.Base(path), id) })
	})
	s.mu.Lock()
	for _, err := range snap.Skipped {
		s.found = append(s.found, "a stored record was bad: "+err.Error())
	}
	s.mu.Unlock()
	return snap, nil
}

func (r *Reader) loadSessions(snap *Snapshot) error {
	return each(context.Background(), r.db, func(scan scan) error {
		var key resume.Key
		var data []byte
		if err := scan(&key.Agent, &key.ID, &data); err != nil {
			return err
		}
		var session resume.Session
		err := json.Unmarshal(data, &session)
		if err == nil && session.Key != key {
			err = fmt.Errorf("it calls itself %q", session.Key)
		}
		if err == nil && !(resume.FitsJSON(session.LimitedAt) && resume.FitsJSON(session.NextAt)) {
			err = errors.New("it bears a time that cannot be")
		}
		if err != nil {
			snap.Skipped = append(snap.Skipped, fmt.Errorf("read session %q: %w", key, err))
			snap.lost = append(snap.lost, key.ID)
			return nil
		}
		snap.Sessions = append(snap.Sessions, session)
		return nil
	}, "SELECT agent, id, data FROM session ORDER BY agent, id")
}

// Put queues the session.
func (s *Store) Put(session resume.Session) {
	s.enqueue(op{
		key:  sessionKey(session.Key),
		stmt: "INSERT INTO session (agent, id, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data",
		args: func() ([]any, error) {
			data, err := json.Marshal(session)
			return []any{session.Key.Agent, session.Key.ID, string(data)}, err
		},
	})
}

// DropSession queues the removal of a session.
func (s *Store) DropSession(key resume.Key) {
	s.enqueue(op{
		key:  sessionKey(key),
		stmt: "DELETE FROM session WHERE agent = ? AND id = ?",
		args: given(key.Agent, key.ID),
	})
}

func sessionKey(key resume.Key) string { return "session\x00" + key.Agent + "\x00" + key.ID }

// The names of the daemon's own values.
const (
	pausedKey = "paused"   // exists while everything is paused
	aliveKey  = "alive_at" // when a daemon last ran
)

// SetPaused queues whether everything is paused.
func (s *Store) SetPaused(paused bool) {
	var value []byte
	if paused {
		value = []byte("true")
	}
	s.PutValue(pausedKey, value)
}

// Paused reports whether everything is paused.
func (s *Store) Paused() bool {
	_, paused := s.Value(pausedKey)
	return paused
}

// SetAlive queues that a daemon runs at this time.
func (s *Store) SetAlive(at time.Time) {
	s.PutValue(aliveKey, []byte(at.UTC().Format(time.RFC3339)))
}

// PutValue queues a small value under a name; nil removes it. Value returns it from now on.
func (s *Store) PutValue(key string, value []byte) {
	s.mu.Lock()
	s.putValueLocked(key, value)
	s.mu.Unlock()
	s.queuedSome.Send()
}

func (s *Store) putValueLocked(key string, value []byte) {
	if value == nil {
		delete(s.values, key)
		s.queue.put(op{key: "value\x00" + key, stmt: "DELETE FROM value WHERE key = ?", args: given(key)})
		return
	}
	value = append([]byte{}, value...) // never nil: nil means none
	s.values[key] = value
	s.queue.put(op{
		key:  "value\x00" + key,
		stmt: "INSERT INTO value (key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data",
		args: given(key, value),
	})
}

// Value returns the value of that name, and whether there is one.
func (s *Store) Value(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	return bytes.Clone(value), ok
}

// loadValues reads all values, which are few, into memory: so a queued value is returned at once, and
// Value never waits for the disk.
func (s *Store) loadValues() error {
	s.values = make(map[string][]byte)
	err := each(context.Background(), s.db, func(scan scan) error {
		var key string
		var data []byte
		err := scan(&key, &data)
		s.values[key] = data
		return err
	}, "SELECT key, data FROM value")
	if err != nil {
		return fmt.Errorf("load values: %w", err)
	}
	return nil
}

// A cursor is the position up to which a file was read. At a start there may be one for each session.

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
