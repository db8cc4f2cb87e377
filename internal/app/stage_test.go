package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPartThatFailsStopsTheDaemonByItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the disk is gone")
		ctx, fail := context.WithCancelCause(t.Context())
		s := newStage(ctx, fail)
		s.run("engine", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		s.run("done early", func(context.Context) error { return nil })
		synctest.Wait()
		require.NoError(t, ctx.Err(), "a part may be done")
		s.run("state", func(context.Context) error { return broken })
		<-ctx.Done()
		failure, ok := errors.AsType[*partError](context.Cause(ctx))
		require.True(t, ok)
		require.EqualError(t, failure, "state ended: the disk is gone")
		require.ErrorIs(t, failure, broken)
		require.False(t, s.stopped(), "it stops when its turn comes")
		s.stop()
		require.True(t, s.stopped())
	})
}

// A part may return an error after it was told to stop; that does not make the daemon fail.
func TestAStageStopsByItsOwnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var failure error
		s := newStage(ctx, func(err error) { failure = err })
		ended := false
		s.run("engine", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return errors.New("cut off")
		})
		cancel()
		synctest.Wait()
		require.False(t, s.stopped(), "it outlives what it was begun with")
		s.stop()
		require.True(t, ended, "and waits for its parts")
		require.NoError(t, failure)
	})
}
