package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func testContext(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// shrinkDisk lets the database grow no further.
func shrinkDisk(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.db.Exec("PRAGMA max_page_count = 1") // as small as it can be now
	require.NoError(t, err)
}

func growDisk(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.db.Exec("PRAGMA max_page_count = 1000000")
	require.NoError(t, err)
}

func bigSession(id string) resume.Session {
	big := session(id, 1)
	big.Reason.Text = strings.Repeat("x", 50_000)
	return big
}

func TestAFullDiskStopsClaimsAndLosesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	shrinkDisk(t, s)
	s.Put(bigSession("claim"))
	s.PutCursor("/t/a", json.RawMessage("1"))
	err := s.Sync(t.Context())
	require.ErrorContains(t, err, "full")
	require.Equal(t, err, s.Err())
	require.Empty(t, load(t, s).Cursors, "a cursor must not get ahead of what was read before it")

	// What is queued while the disk is full replaces what was queued before.
	newer := bigSession("claim")
	newer.Windows = 2
	s.Put(newer)
	require.Error(t, s.Sync(t.Context()))
	growDisk(t, s)
	require.NoError(t, s.Sync(t.Context()))
	require.NoError(t, s.Err())
	s = reopen(t, s)
	require.Equal(t, []resume.Session{newer}, load(t, s).Sessions)
	require.Equal(t, json.RawMessage("1"), load(t, s).Cursors["/t/a"])
}

func TestWhatComesDuringAWriteThatFailsIsNotUndone(t *testing.T) {
	var q queue
	put := func(key, value string) { q.put(op{key: key, stmt: value}) }
	put("a", "old")
	put("b", "old")
	q.append(op{stmt: "first"})
	failed := q.take()
	put("a", "new")
	q.append(op{stmt: "second"})
	q.restore(failed)
	again := q.take()
	require.Equal(t, "new", again.ops["a"].stmt)
	require.Equal(t, "old", again.ops["b"].stmt)
	require.Len(t, again.lines, 2)
	require.Equal(t, "first", again.lines[0].stmt)
}

func TestAFullDiskIsLoggedOnceAndTriedEverySecond(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		shrinkDisk(t, s)
		s.Put(bigSession("a"))
		ctx, cancel := testContext(t)
		var run sync.WaitGroup
		run.Go(func() { require.NoError(t, s.Run(ctx)) })
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), log.String())

		growDisk(t, s)
		time.Sleep(retryEvery)
		synctest.Wait()
		require.NoError(t, s.Err())
		require.Len(t, load(t, s).Sessions, 1)
		require.Contains(t, log.String(), "state is written again")
		cancel()
		run.Wait()
		require.NoError(t, s.Close())
	})
}

func TestAHistoryThatCannotBeWrittenIsBounded(t *testing.T) {
	var q queue
	for n := range maxWaitingLines + 5 {
		q.append(op{stmt: fmt.Sprint(n)})
		if n == maxWaitingLines/2 {
			failed := q.take()
			q.append(op{stmt: "meanwhile"})
			q.restore(failed)
		}
	}
	lines := q.take().lines
	require.Len(t, lines, maxWaitingLines)
	require.Equal(t, "6", lines[0].stmt, "the oldest go first")
	require.Equal(t, fmt.Sprint(maxWaitingLines+4), lines[len(lines)-1].stmt)
	require.Equal(t, 6, q.dropped)
}

func TestARecordThatCannotBeStoredIsLoggedOncePerReason(t *testing.T) {
	var log bytes.Buffer
	s, err := Open(t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	logged := func(reason string) int {
		s.enqueue(op{key: "record", args: func() ([]any, error) { return nil, errors.New(reason) }})
		require.NoError(t, s.Sync(t.Context()))
		return strings.Count(log.String(), "level=ERROR")
	}
	require.Equal(t, 1, logged("too long"))
	require.Equal(t, 1, logged("too long"))
	require.Equal(t, 2, logged("not JSON"))
}
