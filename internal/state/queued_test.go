package state

import (
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever is queued is written soon, also if nothing else is queued and nobody calls Sync.
func TestEverythingThatIsQueuedIsWrittenSoon(t *testing.T) {
	for name, queue := range map[string]func(*Store){
		"a session":                func(s *Store) { s.Put(session("b", 1)) },
		"a line of history":        func(s *Store) { s.AppendHistory(Entry{At: time.Now(), Kind: "x", Data: []byte("{}")}) },
		"a notice":                 func(s *Store) { s.StoreOutbox([]Delivery{{ID: "n", Channel: "c"}}, "", nil) },
		"a value":                  func(s *Store) { s.PutValue("k", []byte("v")) },
		"the end of an old notice": func(s *Store) { s.pruneDeliveries(time.Now().Add(time.Second)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := open(t, dir)
				s.StoreOutbox([]Delivery{{ID: "old", Channel: "c"}}, "", nil)
				require.NoError(t, s.Done(t.Context(), "old", "c", "sent"))
				ctx, cancel := testContext(t)
				var run sync.WaitGroup
				run.Go(func() { require.NoError(t, s.Run(ctx)) })
				synctest.Wait()
				time.Sleep(time.Second)
				queue(s)
				time.Sleep(batchDelay)
				synctest.Wait()
				s.mu.Lock()
				left := len(s.queue.ops) + len(s.queue.lines)
				s.mu.Unlock()
				require.Zero(t, left)
				cancel()
				run.Wait()
				require.NoError(t, s.Close())
			})
		})
	}
}

// What a caller does with its bytes afterwards changes nothing.
func TestWhatIsQueuedIsACopy(t *testing.T) {
	s := open(t, t.TempDir())
	value, payload := []byte("value"), []byte("payload")
	s.StoreOutbox([]Delivery{{ID: "n", Channel: "c", Payload: payload}}, "k", value)
	clear(value)
	clear(payload)
	for range 2 {
		got, _ := s.Value("k")
		require.Equal(t, "value", string(got))
		require.Equal(t, "payload", string(s.Pending()[0].Payload))
		s = reopen(t, s)
	}
}

// The next daemon knows when the last one ran.
func TestWhenADaemonLastRanIsKnown(t *testing.T) {
	s := open(t, t.TempDir())
	require.Zero(t, load(t, s).AliveAt)
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	s.SetAlive(at)
	require.Equal(t, at, load(t, reopen(t, s)).AliveAt)
}

// A copy of a database may have lost its journal mode, with which a reader does not stop the daemon.
func TestTheJournalModeIsSetAgain(t *testing.T) {
	s := open(t, t.TempDir())
	_, err := s.db.Exec("PRAGMA journal_mode = DELETE")
	require.NoError(t, err)
	var mode string
	require.NoError(t, reopen(t, s).db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	require.Equal(t, "wal", mode)
}

// SQLite would wait for ever, or call it a disk error.
func TestAFileBesideTheDatabaseThatIsNoFileIsNamed(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		dir := t.TempDir()
		path := filepath.Join(dir, databaseName) + suffix
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		_, err := Open(dir, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, path)
		require.NoFileExists(t, filepath.Join(dir, databaseName), "nothing was made")
	}
}
