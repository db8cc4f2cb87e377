package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// hang is an operation that only waits for the end of its context.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestCancellingDuringAWaitReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errQuit := errors.New("user quit")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(90*sec, func() { cancel(errQuit) })
		begin := time.Now()
		op := newFailing(-1)
		op.err = stated{time.Hour, true}
		err := Retry(ctx, steady(5), op.run, Options{ServerDelay: asked})
		require.Equal(t, 90*sec, time.Since(begin))
		require.Equal(t, seconds(0), op.at)

		interrupted, ok := errors.AsType[*InterruptedError](err)
		require.True(t, ok)
		require.Equal(t, 1, interrupted.Attempts)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errQuit)
		require.NotErrorIs(t, err, op.err, "the end was not the operation's")
		require.EqualError(t, err, "interrupted after 1 attempt: user quit (last error: slow down)")
	})
}

func TestCancellingDuringAnAttemptIsNoFailureOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(sec, cancel)
		err := Retry(ctx, steady(5), hang, Options{
			Retryable: func(error) bool { panic("not asked") },
			OnRetry:   func(Upcoming) { panic("not told") },
		})
		require.ErrorIs(t, err, context.Canceled)
		interrupted, ok := errors.AsType[*InterruptedError](err)
		require.True(t, ok)
		require.Equal(t, 1, interrupted.Attempts)
	})
}

func TestNothingIsRunForACallerThatHasGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Retry(ctx, steady(5), func(context.Context) error { panic("not run") }, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "interrupted after 0 attempts: context canceled")
}

func TestSuccessWinsOverACancelThatCameWithIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, Retry(ctx, steady(5), func(context.Context) error { cancel(); return nil }, Options{}))
}

func TestTheCallersDeadlineEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*sec)
		defer cancel()
		begin := time.Now()
		err := Retry(ctx, steady(5), hang, Options{})
		require.Equal(t, 5*sec, time.Since(begin))
		_, isInterrupted := errors.AsType[*InterruptedError](err)
		require.True(t, isInterrupted)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestAWaitThatCannotEndBeforeTheDeadlineIsNotBegun(t *testing.T) {
	tests := map[string]struct {
		left time.Duration
		err  error
		at   []time.Duration
		text string
	}{
		"the formula's wait":   {5 * sec, errRefused, seconds(0, 1, 3), "gave up after 3 attempts with no time left to wait 4s: refused"},
		"ends at the deadline": {3 * sec, errRefused, seconds(0, 1), "gave up after 2 attempts with no time left to wait 2s: refused"},
		"ends just before it":  {3*sec + 1, errRefused, seconds(0, 1, 3), "gave up after 3 attempts with no time left to wait 4s: refused"},
		"the server's wait":    {time.Minute, stated{time.Hour, true}, seconds(0), "gave up after 1 attempt with no time left to wait 1h: slow down"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.left)
				defer cancel()
				begin := time.Now()
				op := newFailing(-1)
				op.err = tt.err
				told := 0
				err := Retry(ctx, steady(5), op.run, Options{ServerDelay: asked, OnRetry: func(Upcoming) { told++ }})
				require.Equal(t, tt.at, op.at)
				require.Equal(t, tt.at[len(tt.at)-1], time.Since(begin), "it returned at once")
				require.Equal(t, len(tt.at)-1, told, "nobody is told of a retry that will not be")

				exhausted, ok := errors.AsType[*ExhaustedError](err)
				require.True(t, ok)
				require.True(t, exhausted.OutOfTime)
				require.Equal(t, len(tt.at), exhausted.Attempts)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, tt.err)
				require.EqualError(t, err, tt.text)
			})
		})
	}
}

// A delivery is tried for a day: 5 s doubling to 10 minutes, without a bound on the number.
func TestRetryForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		p := Default()
		p.BaseDelay, p.MaxDelay, p.MaxRetries = 5*sec, 10*time.Minute, Unlimited
		begin := time.Now()
		err := Retry(ctx, p, newFailing(-1).run, Options{Rand: func() float64 { return 0.5 }})
		exhausted, ok := errors.AsType[*ExhaustedError](err)
		require.True(t, ok)
		require.True(t, exhausted.OutOfTime)
		require.Equal(t, 10*time.Minute, exhausted.Wait)
		require.Equal(t, 150, exhausted.Attempts, "8 in the first 635 s, then one every 10 minutes")
		require.Greater(t, time.Since(begin), 24*time.Hour-10*time.Minute)
		require.Less(t, time.Since(begin), 24*time.Hour)
	})
}

func TestTriesEndWhenTheirTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Policy{Strategy: Exponential, BaseDelay: sec, MaxDelay: time.Minute, MaxElapsed: 10 * sec}
		var at []time.Duration
		start := time.Now()
		err := Retry(t.Context(), p, func(context.Context) error {
			at = append(at, time.Since(start))
			return errRefused
		}, Options{})
		exhausted, ok := errors.AsType[*ExhaustedError](err)
		require.True(t, ok)
		require.Equal(t, seconds(0, 1, 3, 7, 10), at, "the last one is made when the time is up")
		require.Equal(t, 5, exhausted.Attempts)
	})
}
