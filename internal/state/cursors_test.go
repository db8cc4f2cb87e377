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

// A start moves a cursor for each transcript. Those that come within a moment are written together.
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
		put(1000)
		require.True(t, onDisk(1) && onDisk(next-1), "all that came together is there")

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
// that change.
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

		const many, rounds = 1000, 3
		for round := range rounds {
			for n := range many {
				s.Put(session(fmt.Sprint(n), round))
			}
			synctest.Wait()
			require.Empty(t, stored(), "more of them may come")
			time.Sleep(batchDelay / rounds)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Len(t, stored(), many)
		require.Contains(t, stored(), session("0", rounds-1), "as it is now")
		cancel()
		run.Wait()
		require.NoError(t, s.Close())
	})
}
