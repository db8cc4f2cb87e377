package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"resumed/internal/resume"
)

// The names of the daemon's own values.
const (
	pausedKey     = "paused"     // exists while everything is paused
	aliveKey      = "alive_at"   // when a daemon last ran
	recoveriesKey = "recoveries" // the durations of past outages
)

// SetPaused queues whether everything is paused.
func (s *Store) SetPaused(paused bool) {
	var value []byte
	if paused {
		value = []byte("true")
	}
	s.PutValue(pausedKey, value)
}

// SetAlive queues that a daemon runs at this time.
func (s *Store) SetAlive(at time.Time) {
	s.PutValue(aliveKey, []byte(at.UTC().Format(time.RFC3339)))
}

// SetRecoveries queues the durations of past outages.
func (s *Store) SetRecoveries(r resume.Recoveries) {
	data, err := json.Marshal(r)
	if err == nil { // a map of durations can always be written
		s.PutValue(recoveriesKey, data)
	}
}

// readRecoveries reads the stored value; an invalid one counts as none.
func readRecoveries(data []byte) resume.Recoveries {
	var r resume.Recoveries
	if json.Unmarshal(data, &r) != nil {
		return nil
	}
	return r
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
