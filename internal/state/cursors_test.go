package state

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A start moves a cursor for each transcript. They are written together when fewer come in, but not
// much later; a single cursor does not wait.
func TestTheCursorsOfAStartAreWrittenTogether(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := testContext(t)
		var run sync.WaitGroup
		run.Go(func() { require.NoError(t, s.Run(ctx)) })
		onDisk := func(n int) bool {
			_, known := s.Cursor(fmt.Sprint("/t/", n))
			return known
		}
		next := 0
		put := func(cursors int) {
			for range cursors {
				s.PutCursor(fmt.Sprint("/t/", next), json.RawMessage(`{"offset":1}`))
				next++
			}
			time.Sleep(batchDelay)
			synctest.Wait()
		}

		time.Sleep(batchDelay)
		put(1)
		require.True(t, onDisk(0), "it came alone")
		for range 3 {
			put(batchThreshold)
			require.False(t, onDisk(1), "more of them come")
		}
		put(1)
		require.True(t, onDisk(1) && onDisk(next-1), "all that came together is there")

		first := next
		for range maxBatchDelay/batchDelay + 1 {
			put(batchThreshold)
		}
		require.True(t, onDisk(first), "they do not wait for ever")

		put(10)
		s.PutCursor("/t/1", json.RawMessage(`{"offset":2}`))
		s.PutCursor("/t/bad", json.RawMessage(`{`))
		s.PutCursor("/t/bad2", nil)
		require.NoError(t, s.Sync(ctx), "one that no disk takes does not hold up the others")
		synctest.Wait()
		require.ErrorContains(t, s.Err(), "cursor /t/bad cannot be stored: the cursor is not JSON")
		s.PutCursor("/t/bad", json.RawMessage(`{}`))
		s.PutCursor("/t/bad2", json.RawMessage(`{}`))
		require.NoError(t, s.Sync(ctx))
		require.NoError(t, s.Err())
		cancel()
		run.Wait()
		require.NoError(t, s.Close())
	})
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer s.Close()
	cursors := load(t, s).Cursors
	require.JSONEq(t, `{"offset":2}`, string(cursors["/t/1"]))
	require.JSONEq(t, `{"offset":1}`, string(cursors["/t/2"]))
}

// An outage stops thousands of sessions, which change again a moment later: each is written once, with
// that change. History lines, of which only some can be queued, do not wait.
func TestSessionsThatStopInMassesAreWrittenTogether(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir)
		ctx, cancel := testContext(t)
		var run sync.WaitGroup
		run.Go(func() { require.NoError(t, s.Run(ctx)) })
		time.Sleep(batchDelay)
		synctest.Wait()
		stored := func() []resume.Session { return load(t, s).Sessions }

		for round := range 3 {
			for n := range batchThreshold {
				s.Put(session(fmt.Sprint(n), round))
			}
			time.Sleep(batchDelay)
			synctest.Wait()
			require.Empty(t, stored(), "more of them come")
		}
		time.Sleep(batchDelay)
		synctest.Wait()
		require.Len(t, stored(), batchThreshold)
		require.Contains(t, stored(), session("0", 2), "as it is now")

		s.Put(session("0", 3))
		for range maxWaitingLines / 2 {
			s.AppendHistory(Entry{At: time.Now(), Kind: "waiting", Data: json.RawMessage("{}")})
		}
		time.Sleep(batchDelay)
		synctest.Wait()
		require.Contains(t, stored(), session("0", 3), "another as many lines might find no room")
		cancel()
		run.Wait()
		require.NoError(t, s.Close())
	})
}
