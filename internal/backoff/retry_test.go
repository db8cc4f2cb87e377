package backoff

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errRefused = errors.New("refused")

// steady is a policy with fixed waits: 1 s, 2 s, 4 s, 8 s, 8 s.
func steady(retries int) Policy {
	return Policy{Strategy: Exponential, BaseDelay: sec, MaxDelay: 8 * sec, MaxRetries: retries}
}

// failing is an operation that fails a number of times and then succeeds; with a negative number it
// never succeeds. It records when it was run.
type failing struct {
	times   int
	err     error
	started time.Time
	at      []time.Duration
}

func newFailing(times int) *failing {
	return &failing{times: times, err: errRefused, started: time.Now()}
}

func (f *failing) run(context.Context) error {
	f.at = append(f.at, time.Since(f.started))
	if f.times >= 0 && len(f.at) > f.times {
		return nil
	}
	return f.err
}

func seconds(n ...float64) []time.Duration {
	all := make([]time.Duration, len(n))
	for i, s := range n {
		all[i] = time.Duration(s * float64(sec))
	}
	return all
}

func TestSuccessEndsTheRun(t *testing.T) {
	tests := map[string]struct {
		failures int
		at       []time.Duration
	}{
		"at once":           {0, seconds(0)},
		"after one failure": {1, seconds(0, 1)},
		"on the last retry": {5, seconds(0, 1, 3, 7, 15, 23)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op := newFailing(tt.failures)
				require.NoError(t, Retry(t.Context(), steady(5), op.run, Options{}))
				require.Equal(t, tt.at, op.at)
			})
		})
	}
}

func TestExhaustionCarriesTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		err := Retry(t.Context(), steady(2), func(context.Context) error {
			n++
			return fmt.Errorf("refusal %d: %w", n, errRefused)
		}, Options{})

		exhausted, ok := errors.AsType[*ExhaustedError](err)
		require.True(t, ok)
		require.ErrorIs(t, err, errRefused)
		require.Equal(t, "refusal 3: refused", errors.Unwrap(err).Error(), "the last error")
		require.EqualError(t, err, "gave up after 3 attempts: refusal 3: refused")
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, exhausted.OutOfTime)
		require.Equal(t, 3, exhausted.Attempts)
	})
}

func TestNoRetriesRunTheOperationOnce(t *testing.T) {
	for _, retries := range []int{0, -1} {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op := newFailing(-1)
				err := Retry(t.Context(), steady(retries), op.run, Options{OnRetry: func(Upcoming) { panic("no retry") }})
				require.EqualError(t, err, "gave up after 1 attempt: refused")
				require.Equal(t, seconds(0), op.at)

				require.NoError(t, Retry(t.Context(), steady(retries), newFailing(0).run, Options{}))
			})
		})
	}
}

func TestErrorsThatAreNotWorthARetryAreReturnedAsTheyAre(t *testing.T) {
	errDenied := errors.New("denied")
	worth := Options{Retryable: func(err error) bool { return !errors.Is(err, errDenied) }}
	synctest.Test(t, func(t *testing.T) {
		op := newFailing(-1)
		op.err = errDenied
		require.Same(t, errDenied, Retry(t.Context(), steady(5), op.run, worth))
		require.Equal(t, seconds(0), op.at)

		runs := 0
		err := Retry(t.Context(), steady(5), func(context.Context) error {
			if runs++; runs == 3 {
				return errDenied
			}
			return errRefused
		}, worth)
		require.Same(t, errDenied, err, "also when it comes later")
		require.Equal(t, 3, runs)
	})
}

func TestOnRetryIsToldBeforeEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var told []Upcoming
		err := Retry(t.Context(), steady(3), newFailing(-1).run, Options{OnRetry: func(u Upcoming) {
			require.Equal(t, time.Now().Add(u.Delay), u.At)
			told = append(told, u)
		}})
		require.ErrorIs(t, err, errRefused)
		require.Len(t, told, 3)
		for i, at := range seconds(1, 3, 7) {
			u := told[i]
			require.Equal(t, i+1, u.Retry)
			require.Equal(t, 3, u.MaxRetries)
			require.Equal(t, errRefused, u.Err)
			require.Equal(t, begin.Add(at), u.At)
		}
	})
}

func TestASlowCallbackDoesNotProlongTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := newFailing(2)
		nap := []time.Duration{400 * ms, 5 * sec}
		require.NoError(t, Retry(t.Context(), steady(5), op.run, Options{OnRetry: func(u Upcoming) {
			time.Sleep(nap[u.Retry-1])
		}}))
		require.Equal(t, seconds(0, 1, 6), op.at, "1 s as asked; then the callback alone took longer than the wait")
	})
}

type stated struct {
	after time.Duration
	ok    bool
}

func (s stated) Error() string { return "slow down" }

// asked is the ServerDelay of a server that answers with stated.
func asked(err error) (time.Duration, bool) {
	s, _ := errors.AsType[stated](err)
	return s.after, s.ok
}

func TestTheServersDelayWinsOverTheFormula(t *testing.T) {
	tests := map[string]struct {
		err error
		at  []time.Duration
	}{
		"longer":                    {stated{time.Minute, true}, seconds(0, 60, 120, 180)},
		"shorter":                   {stated{10 * ms, true}, seconds(0, 0.01, 0.02, 0.03)},
		"not stated this time":      {stated{time.Minute, false}, seconds(0, 1, 3, 7)},
		"past means now, not twice": {stated{-time.Hour, true}, seconds(0, 0, 2, 2)},
		"zero means now, not twice": {stated{0, true}, seconds(0, 0, 2, 2)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op := newFailing(-1)
				op.err = tt.err
				require.Error(t, Retry(t.Context(), steady(3), op.run, Options{ServerDelay: asked}))
				require.Equal(t, tt.at, op.at)
			})
		})
	}
}

func TestTheDiceAreTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := steady(3)
		p.Jitter, p.JitterMode, p.JitterPercent = true, Symmetric, 0.5
		dice := []float64{0, 0.5, 0.75}
		op := newFailing(3)
		require.NoError(t, Retry(t.Context(), p, op.run, Options{Rand: func() float64 {
			u := dice[0]
			dice = dice[1:]
			return u
		}}))
		require.Equal(t, seconds(0, 0.5, 2.5, 7.5), op.at)
	})
}

// A wait of hours consists of naps; it must still end at the right time.
func TestLongWaitsEndOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := newFailing(1)
		op.err = stated{5*time.Hour + 30*sec, true}
		require.NoError(t, Retry(t.Context(), steady(1), op.run, Options{ServerDelay: asked}))
		require.Equal(t, []time.Duration{0, 5*time.Hour + 30*sec}, op.at)
	})
}

func TestAPanicPassesThroughAndIsNotRetried(t *testing.T) {
	runs := 0
	require.PanicsWithValue(t, "bug", func() {
		_ = Retry(t.Context(), steady(5), func(context.Context) error {
			runs++
			panic("bug")
		}, Options{})
	})
	require.Equal(t, 1, runs)
}

func TestPolicyMayDependOnTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, long := errors.New("short"), errors.New("long")
		policies := map[error]Policy{
			short: {Strategy: Fixed, BaseDelay: time.Second, MaxDelay: time.Second, MaxRetries: 2},
			long:  {Strategy: Linear, BaseDelay: time.Minute, MaxDelay: time.Hour, MaxRetries: 4},
		}
		failures := []error{short, long, long, short}
		began, runs := time.Now(), 0
		var waits []time.Duration
		err := Retry(t.Context(), Default(), func(context.Context) error {
			runs++
			return failures[runs-1]
		}, Options{
			PolicyFor: func(err error) Policy { return policies[err] },
			OnRetry:   func(u Upcoming) { waits = append(waits, u.Delay) },
		})
		require.Equal(t, []time.Duration{time.Second, 2 * time.Minute, 3 * time.Minute}, waits)
		require.Equal(t, 5*time.Minute+time.Second, time.Since(began))
		exhausted, ok := errors.AsType[*ExhaustedError](err)
		require.True(t, ok, "three retries are more than the last error's policy allows")
		require.Equal(t, 4, exhausted.Attempts)
	})
}
