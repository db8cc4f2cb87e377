package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/resume"
)

// Snapshot is what was stored when the last daemon ended.
type Snapshot struct {
	Sessions   []resume.Session
	Cursors    map[string]json.RawMessage // by path
	Paused     bool                       // everything is paused, not only one session
	Recoveries resume.Recoveries          // the durations of past outages
	AliveAt    time.Time                  // when a daemon last ran; zero: not known
	Skipped    []error                    // one for each record that could not be read

	lost []string // the ids of the sessions among Skipped
}

// Load returns what is on disk. A record that cannot be read is skipped and reported; it stays on disk
// until a newer one replaces it.
func (s *Store) Load() (Snapshot, error) {
	_, paused := s.Value(pausedKey)
	alive, _ := s.Value(aliveKey)
	recoveries, _ := s.Value(recoveriesKey)
	snap := Snapshot{Paused: paused, Recoveries: readRecoveries(recoveries)}
	snap.AliveAt, _ = time.Parse(time.RFC3339, string(alive)) // an invalid time counts as none
	if err := s.reader().loadSessions(&snap); err != nil {
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
		if err == nil && !(resume.Tellable(session.LimitedAt) && resume.Tellable(session.NextAt)) {
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
