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

func TestAnAttemptThatTakesTooLongIsATimeoutAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := Retry(t.Context(), steady(2), hang, Options{Timeout: 10 * sec})
		require.Equal(t, 33*sec, time.Since(begin), "10 + 1 + 10 + 2 + 10")
		timeout, ok := errors.AsType[*TimeoutError](err)
		require.True(t, ok)
		require.Equal(t, 10*sec, timeout.After)
		require.EqualError(t, err, "gave up after 3 attempts: timed out after 10s")
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it was not the caller's deadline")
		require.NotErrorIs(t, err, context.Canceled)
	})
}

// A killed command reports "signal: killed" and no deadline.
func TestATimeoutIsKnownWhateverTheOperationSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errKilled := errors.New("signal: killed")
		var judged error
		err := Retry(t.Context(), steady(2), func(ctx context.Context) error {
			<-ctx.Done()
			return errKilled
		}, Options{Timeout: sec, Retryable: func(err error) bool { judged = err; return false }})
		require.Same(t, judged, err)
		_, ok := errors.AsType[*TimeoutError](err)
		require.True(t, ok)
		require.ErrorIs(t, err, errKilled)
		require.EqualError(t, err, "timed out after 1s: signal: killed")
	})
}

func TestAnOperationThatEndsInTimeIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Retry(t.Context(), steady(0), func(context.Context) error {
			time.Sleep(sec - 1)
			return errRefused
		}, Options{Timeout: sec})
		_, ok := errors.AsType[*TimeoutError](err)
		require.False(t, ok)

		require.NoError(t, Retry(t.Context(), steady(0), func(context.Context) error {
			time.Sleep(time.Minute)
			return nil
		}, Options{Timeout: sec}), "late but done is done")
	})
}

func TestZeroTimeoutMeansNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, Retry(t.Context(), steady(0), func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.False(t, bounded)
			time.Sleep(1000 * time.Hour)
			return ctx.Err()
		}, Options{}))
	})
}

func TestNegativeTimeoutHasPassedAlready(t *testing.T) {
	err := Retry(t.Context(), steady(5), func(context.Context) error { panic("not run") }, Options{Timeout: -1})
	timeout, ok := errors.AsType[*TimeoutError](err)
	require.True(t, ok, "no attempt was made, so none was exhausted")
	require.NoError(t, timeout.Unwrap())
	require.EqualError(t, err, "timed out before it began")
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
		require.Len(t, interrupted.History, 1)
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
			Timeout:   time.Minute,
			Retryable: func(error) bool { panic("not asked") },
			OnRetry:   func(Upcoming) { panic("not told") },
		})
		require.ErrorIs(t, err, context.Canceled)
		_, isTimeout := errors.AsType[*TimeoutError](err)
		require.False(t, isTimeout)
		interrupted, ok := errors.AsType[*InterruptedError](err)
		require.True(t, ok)
		require.Len(t, interrupted.History, 1)
	})
}

func TestNothingIsRunForACallerThatHasGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Retry(ctx, steady(5), func(context.Context) error { panic("not run") }, Options{Timeout: -1})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "interrupted after 0 attempts: context canceled")
}

func TestSuccessWinsOverACancelThatCameWithIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, Retry(ctx, steady(5), func(context.Context) error { cancel(); return nil }, Options{}))
}

func TestAnAttemptNeverGetsMoreTimeThanTheCallerHas(t *testing.T) {
	tests := map[string]struct {
		timeout, left, want time.Duration // left: until the caller's deadline; 0: none
		callers             bool          // the caller's deadline ends it
	}{
		"caller has less":        {time.Minute, 5 * sec, 5 * sec, true},
		"caller has more":        {5 * sec, time.Minute, 5 * sec, false},
		"both are one instant":   {5 * sec, 5 * sec, 5 * sec, true},
		"no timeout":             {0, 5 * sec, 5 * sec, true},
		"caller has no deadline": {5 * sec, 0, 5 * sec, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := t.Context(), func() {}
				if tt.left > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.left)
				}
				defer cancel()
				begin := time.Now()
				err := Retry(ctx, steady(0), func(ctx context.Context) error {
					deadline, ok := ctx.Deadline()
					require.True(t, ok)
					require.Equal(t, tt.want, time.Until(deadline))
					return hang(ctx)
				}, Options{Timeout: tt.timeout})
				require.Equal(t, tt.want, time.Since(begin))
				_, isTimeout := errors.AsType[*TimeoutError](err)
				require.Equal(t, tt.callers, !isTimeout)
				require.Equal(t, tt.callers, errors.Is(err, context.DeadlineExceeded))
				_, isInterrupted := errors.AsType[*InterruptedError](err)
				require.Equal(t, tt.callers, isInterrupted)
			})
		})
	}
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
				require.Len(t, exhausted.History, len(tt.at))
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
		require.Len(t, exhausted.History, 150, "8 in the first 635 s, then one every 10 minutes")
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
		require.Len(t, exhausted.History, 5)
	})
}
