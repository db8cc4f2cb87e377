package state

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// What is queued while another batch is being written is on disk when Sync returns: a claim that was
// acted on must not be lost in a crash.
func TestSyncWaitsForABatchThatIsBeingWritten(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	writes, written, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s.enqueue(op{key: "slow", stmt: "INSERT INTO value (key, data) VALUES (?, ?)", args: func() ([]any, error) {
		close(writes)
		<-written
		return []any{"slow", []byte("1")}, nil
	}})
	go func() { first <- s.Sync(t.Context()) }()
	<-writes

	s.Put(session("claim", 1))
	second := make(chan []resume.Session, 1)
	go func() {
		if s.Sync(t.Context()) == nil {
			snap, _ := s.Load()
			second <- snap.Sessions
		}
		close(second)
	}()
	// If Sync did not wait, it would return now. If it needs longer for that than here, the fault is
	// not noticed, but no correct code fails.
	var found []resume.Session
	select {
	case found = <-second:
		close(written)
	case <-time.After(100 * time.Millisecond):
		close(written)
		found = <-second
	}
	require.NoError(t, <-first)
	require.Equal(t, []resume.Session{session("claim", 1)}, found)
}

// After the database was removed or replaced, nothing that is written would be found by the next daemon.
func TestADatabaseThatIsGoneIsAnError(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"removed":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)) },
	} {
		s := open(t, t.TempDir())
		require.NoError(t, take(s.Path()), name)
		s.Put(session("claim", 1))
		require.ErrorIs(t, s.Sync(t.Context()), errGone, name)
		select {
		case <-s.Lost():
		default:
			t.Error(name, "the daemon does not end")
		}
		_ = s.Close()
	}
}
