package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Files that change at once are told together: who takes what was read knows that more is about
// to come, and is told when that was all.
func TestABurstOfEventsIsToldTogether(t *testing.T) {
	const files = 8
	dir, s := t.TempDir(), newSink()
	path := func(i int) string { return filepath.Join(dir, fmt.Sprint(i, ".log")) }
	for i := range files {
		appendTo(t, path(i), "old\n")
	}
	var told, announced, settled int // owned by Run
	done := make(chan struct{})
	var w *Watcher
	s.refuse = func(b Batch) error {
		if len(b.Lines) == 0 || string(b.Lines[0].Data) != "new" {
			return nil
		}
		if told++; told == 1 { // the others come while this one is dealt with
			for i := 1; i < files; i++ {
				appendTo(t, path(i), "new\n")
			}
			for begin := time.Now(); w.notify.Waiting() < files-1; runtime.Gosched() {
				if time.Since(begin) > patience {
					return errors.New("the events did not come")
				}
			}
		}
		if b.More {
			announced++
		}
		return nil
	}
	watched(t, dir, s, func(made *Watcher) {
		w = made
		w.opts.Flush = func(context.Context) error {
			if told == files && settled == 0 {
				settled++
				close(done)
			}
			return nil
		}
	})
	appendTo(t, path(0), "new\n")
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "it was not told that this was all")
	}
	require.GreaterOrEqual(t, announced, files-2, "of all but the first, which came alone, and the last")
}

// A file may have been read with others that were not all told yet. Who asks for it is not told that all
// is well because nothing new stands in it.
func TestNobodyIsToldThatAllIsWellBeforeWhatWasReadIsDealtWith(t *testing.T) {
	dir, s := t.TempDir(), newSink()
	path := filepath.Join(dir, "a.log")
	appendTo(t, path, "old\n")
	down := errors.New("the engine is down")
	var refused atomic.Bool
	r := watched(t, dir, s, func(made *Watcher) {
		made.opts.Flush = func(context.Context) error {
			if refused.Load() {
				return down
			}
			return nil
		}
	})
	require.NoError(t, r.w.Check(t.Context(), path))
	refused.Store(true)
	require.ErrorIs(t, r.w.Check(t.Context(), path), down)
	refused.Store(false)
	require.NoError(t, r.w.Check(t.Context(), path))
}
