package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDirEnv); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	os.Exit(m.Run())
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return s
}

// reopen returns what the next daemon finds.
func reopen(t testing.TB, s *Store) *Store {
	t.Helper()
	require.NoError(t, s.Close())
	next := open(t, filepath.Dir(s.Path()))
	t.Cleanup(func() { next.Close() })
	return next
}

func session(id string, windows int) resume.Session {
	return resume.Session{
		Key:     resume.Key{Agent: "claude-code", ID: id},
		State:   resume.Waiting,
		Windows: windows,
	}
}

func load(t testing.TB, s *Store) Snapshot {
	t.Helper()
	snap, err := s.Load()
	require.NoError(t, err)
	return snap
}

func TestSessionsCursorsAndPauseSurviveARestart(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	full := resume.Session{
		Key: resume.Key{Agent: "codex", ID: "a/b"}, Account: "codex:default", Cwd: "/tmp/x", Transcript: "/tmp/t.jsonl",
		Seen: resume.Position{Epoch: "1:2", Offset: 77}, State: resume.Settling, Paused: true, Reason: "why",
		Interruption: resume.Interruption{
			Limit:    limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: at, Source: limit.Words, Rough: true}},
			NextAt:   at.Add(time.Hour),
			Jitter:   0.25,
			Attempts: []resume.Attempt{{N: 1, Mark: "m", StartedAt: at, Delay: time.Minute, Outcome: resume.Failed}},
		},
		LimitedAt: at, Windows: 2,

		Run: &resume.Run{Mark: "m", N: 1, Process: resume.Process{PID: 7, Start: 8}},
	}
	s := open(t, filepath.Join(t.TempDir(), "a ?%41#dir", "state"))
	s.Put(full)
	s.Put(session("gone", 1))
	s.DropSession(session("gone", 1).Key)
	s.PutCursor("/t/one", json.RawMessage(`{"offset":1}`))
	s.SetPaused(true)
	require.NoError(t, s.Sync(t.Context()))

	s = reopen(t, s)
	snap := load(t, s)
	require.Equal(t, []resume.Session{full}, snap.Sessions)
	require.Equal(t, map[string]json.RawMessage{"/t/one": json.RawMessage(`{"offset":1}`)}, snap.Cursors)
	require.True(t, snap.Paused)
	require.Empty(t, snap.Skipped)

	s.SetPaused(false)
	s = reopen(t, s)
	require.False(t, load(t, s).Paused)
}

func TestOnlyTheOwnerMayLookInside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.Mkdir(dir, 0o755))
	s := open(t, dir)
	t.Cleanup(func() { s.Close() })
	s.Put(session("a", 1))
	require.NoError(t, s.Sync(t.Context()))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4) // database, -wal, -shm, lock
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), entry.Name())
	}
}

func TestASecondDaemonIsToldWhoHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(dir, slog.New(slog.DiscardHandler))
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, HeldError{Dir: dir, PID: os.Getpid()}, *held)
	require.ErrorContains(t, err, fmt.Sprintf("pid %d", os.Getpid()))
	require.ErrorContains(t, err, dir)

	require.NoError(t, s.Close())
	require.NoError(t, open(t, dir).Close(), "the directory is free when its daemon is gone")
}

func TestARecordThatCannotBeReadIsSkippedAndReported(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	s.Put(session("good", 1))
	require.NoError(t, s.Sync(t.Context()))
	for _, stmt := range []string{
		`INSERT INTO session VALUES ('claude-code', 'torn', '{"key":')`,
		`INSERT INTO session VALUES ('claude-code', 'future', '{"key":{"agent":"claude-code","id":"future"},"state":"dreaming"}')`,
		`INSERT INTO session VALUES ('claude-code', 'other', '{"key":{"agent":"claude-code","id":"someone"},"state":"waiting"}')`,
		`INSERT INTO session VALUES ('claude-code', 'late', '{"key":{"agent":"claude-code","id":"late"},"state":"waiting","limited_at":"9999-12-31T23:59:59-01:00"}')`,
		`INSERT INTO cursor VALUES ('/t/bad', 'nonsense')`,
		`INSERT INTO cursor VALUES ('/t/good.jsonl', '{}')`,
		`INSERT INTO cursor VALUES ('/t/rollout-torn.jsonl', '{}')`,
	} {
		_, err := s.db.Exec(stmt)
		require.NoError(t, err)
	}
	snap := load(t, s)
	require.Equal(t, []resume.Session{session("good", 1)}, snap.Sessions)
	require.Equal(t, map[string]json.RawMessage{"/t/good.jsonl": json.RawMessage(`{}`)}, snap.Cursors, "the others are read anew")
	require.Len(t, snap.Skipped, 5)
	require.ErrorContains(t, snap.Skipped[0], "future")
}

func TestARecordThatCannotBeWrittenHoldsUpNobody(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	bad := session("bad", 1)
	bad.Jitter = math.NaN() // JSON cannot represent it
	s.Put(bad)
	s.PutCursor("/t/bad", json.RawMessage("nonsense"))
	s.Put(session("good", 1))
	require.NoError(t, s.Sync(t.Context(), session("good", 1).Key))
	snap := load(t, s)
	require.Equal(t, []resume.Session{session("good", 1)}, snap.Sessions)
	require.Empty(t, snap.Cursors)

	require.ErrorContains(t, s.Sync(t.Context(), bad.Key), "bad cannot be stored", "its claim must not be acted on")
	require.Error(t, s.Err(), "status tells")
	s.Put(session("bad", 2))
	s.PutCursor("/t/bad", json.RawMessage("{}"))
	require.NoError(t, s.Sync(t.Context(), bad.Key))
	require.NoError(t, s.Err())
}

func TestADatabaseThatIsNotOursIsLeftAlone(t *testing.T) {
	s := open(t, t.TempDir())
	for n := range 200 {
		s.Put(session(fmt.Sprintf("session-%d", n), n))
	}
	require.NoError(t, s.Close())
	good, err := os.ReadFile(s.Path())
	require.NoError(t, err)

	// Byte 60 of the header begins the user version, 68 the application id.
	edit := func(at int, with ...byte) []byte {
		data := append([]byte(nil), good...)
		copy(data[at:], with)
		return data
	}
	tests := map[string]struct {
		data    []byte
		wantMsg string
	}{
		"a newer version":   {edit(60, 0, 0, 0, 9), "state version 9"},
		"another program's": {edit(68, 1, 2, 3, 4), "not a state database"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, databaseName)
			require.NoError(t, os.WriteFile(path, tt.data, 0o600))
			_, err := Open(dir, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, tt.wantMsg)
			require.ErrorContains(t, err, path)
			require.ErrorAs(t, err, new(*VersionError))
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, tt.data, after, "the file must stay as it was")

			require.NoError(t, os.Remove(path))
			require.NoError(t, open(t, dir).Close(), "the lock must be free and a fresh start possible")
		})
	}
}

// Half of what another version meant could be read: an action could be taken twice.
func TestADatabaseOfAnOlderVersionIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Put(session("s-1", 1))
	require.NoError(t, s.Close())
	db, err := openFile(s.Path(), nil)
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA user_version = 1")
	require.NoError(t, errors.Join(err, db.Close()))
	_, err = OpenReader(dir)
	require.ErrorContains(t, err, "the daemon sets it aside")

	var log strings.Builder
	s, err = Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	require.Empty(t, load(t, s).Sessions)
	require.Empty(t, s.Found(), "nothing is wrong with it")
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	aside, err := filepath.Glob(s.Path() + ".older-*")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	require.Contains(t, log.String(), aside[0])
	s.Put(session("s-2", 1))
	require.Len(t, load(t, reopen(t, s)).Sessions, 1, "it is set aside once")
}

func TestAFirstStartThatWasCutOffIsBegunAgain(t *testing.T) {
	dir := t.TempDir()
	db, err := openFile(filepath.Join(dir, databaseName), nil)
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s := open(t, dir)
	s.Put(session("a", 1))
	s = reopen(t, s)
	require.Len(t, load(t, s).Sessions, 1)
}

func TestATornLogLosesOnlyItsEnd(t *testing.T) {
	s := open(t, t.TempDir())
	s.Put(session("first", 1))
	require.NoError(t, s.Sync(t.Context()))
	first, err := os.Stat(s.Path() + "-wal")
	require.NoError(t, err)
	s.Put(session("second", 1))
	require.NoError(t, s.Sync(t.Context()))
	wal, err := os.ReadFile(s.Path() + "-wal")
	require.NoError(t, err)
	main, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	require.NoError(t, s.Close())

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName), main, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, databaseName+"-wal"), wal[:first.Size()+100], 0o600))
	torn := open(t, dir)
	t.Cleanup(func() { torn.Close() })
	require.Equal(t, []resume.Session{session("first", 1)}, load(t, torn).Sessions)
}

func TestRunWritesInBatchesAndFlushesWhenItStops(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := testContext(t)
	var run sync.WaitGroup
	run.Go(func() { require.NoError(t, s.Run(ctx)) })
	for n := range 1000 {
		s.Put(session("a", n))
		s.PutCursor("/t/a", json.RawMessage(fmt.Sprint(n)))
	}
	cancel()
	run.Wait()
	// Not with Close, which would also write the queue.
	require.NoError(t, s.db.Close())
	require.NoError(t, s.lock.Close())
	s = open(t, filepath.Dir(s.Path()))
	t.Cleanup(func() { s.Close() })
	snap := load(t, s)
	require.Equal(t, []resume.Session{session("a", 999)}, snap.Sessions)
	require.Equal(t, json.RawMessage("999"), snap.Cursors["/t/a"])
}

func TestQueuedWritesReachTheDiskWithoutSync(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		ctx, cancel := testContext(t)
		var run sync.WaitGroup
		run.Go(func() { require.NoError(t, s.Run(ctx)) })
		synctest.Wait()
		s.Put(session("a", 1))
		time.Sleep(batchDelay / 2)
		s.Put(session("b", 1))
		synctest.Wait()
		require.Empty(t, load(t, s).Sessions, "company is waited for")
		time.Sleep(batchDelay / 2)
		synctest.Wait()
		require.Len(t, load(t, s).Sessions, 2, "and not for ever")
		cancel()
		run.Wait()
		require.NoError(t, s.Close())
	})
}

func TestSyncFromManySharesTheWork(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for round := range 10 {
				s.Put(session(fmt.Sprint(n), round))
				require.NoError(t, s.Sync(t.Context()))
			}
		})
	}
	all.Wait()
	for _, got := range load(t, s).Sessions {
		require.Equal(t, 9, got.Windows)
	}
	require.Len(t, load(t, s).Sessions, 8)
}

func TestSyncOfACancelledCallerPromisesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	ctx, cancel := testContext(t)
	cancel()
	s.Put(session("a", 1))
	require.Error(t, s.Sync(ctx))
	require.NoError(t, s.Sync(t.Context()))
}

func TestValuesAreSeenAtOnceAndSurviveARestart(t *testing.T) {
	s := open(t, t.TempDir())
	s.PutValue("desktop/1", []byte("42"))
	s.PutValue("empty", []byte{})
	s.PutValue("gone", []byte("x"))
	s.PutValue("gone", nil)
	for range 2 {
		value, ok := s.Value("desktop/1")
		require.True(t, ok)
		require.Equal(t, "42", string(value))
		_, ok = s.Value("empty")
		require.True(t, ok)
		_, ok = s.Value("gone")
		require.False(t, ok)
		s = reopen(t, s)
	}
}

func BenchmarkDurableTransitions(b *testing.B) {
	s := open(b, b.TempDir())
	defer s.Close()
	one := session("a", 1)
	one.Reason = strings.Repeat("r", 200)
	for b.Loop() {
		one.Windows++
		s.Put(one)
		require.NoError(b, s.Sync(b.Context()))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transitions/s")
}

func BenchmarkPut(b *testing.B) {
	s := open(b, b.TempDir())
	defer s.Close()
	one := session("a", 1)
	for b.Loop() {
		s.Put(one)
	}
}

func BenchmarkLoad10kSessions(b *testing.B) {
	s := open(b, b.TempDir())
	defer s.Close()
	for n := range 10_000 {
		s.Put(session(fmt.Sprint(n), n))
	}
	require.NoError(b, s.Sync(b.Context()))
	for b.Loop() {
		require.Len(b, load(b, s).Sessions, 10_000)
	}
}

// Thousands of stopped sessions take the size of their data, not a page each.
func TestSessionsTakeNoMoreThanTheySay(t *testing.T) {
	s := open(t, t.TempDir())
	const sessions, long = 2000, 1000
	for i := range sessions {
		stopped := session(fmt.Sprint("s-", i), 1)
		stopped.Reason = strings.Repeat("x", long)
		s.Put(stopped)
	}
	require.NoError(t, s.Sync(t.Context()))
	s = reopen(t, s)
	require.Len(t, load(t, s).Sessions, sessions)
	info, err := os.Stat(s.Path())
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(2*sessions*long))
}

// What is queued while a commit writes is not part of it: if Sync took it for written, a claim could be
// acted on that a crash loses.
func TestSyncWritesWhatWasQueuedDuringACommit(t *testing.T) {
	s := open(t, t.TempDir())
	t.Cleanup(func() { s.Close() })
	s.enqueue(op{key: "first", stmt: "DELETE FROM value WHERE key = ?", args: func() ([]any, error) {
		s.Put(session("late", 1)) // the commit is under way
		return []any{"none"}, nil
	}})
	require.NoError(t, s.Sync(t.Context()))
	require.Empty(t, load(t, s).Sessions)
	require.NoError(t, s.Sync(t.Context()))
	require.Len(t, load(t, s).Sessions, 1)
}
