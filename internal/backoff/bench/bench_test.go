// Package bench compares package backoff with other libraries. It is a module of its own, so that these
// libraries do not get into the daemon's go.mod.
package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	cenkalti "github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	jpillora "github.com/jpillora/backoff"
	sethvargo "github.com/sethvargo/go-retry"

	"resumed/internal/backoff"
)

// schedule is how many delays of one operation are computed before the next one begins. Libraries with
// a counter of their own are then reset, or created again if they have no reset.
const schedule = 8

var errRefused = errors.New("refused")

// sink prevents the compiler from removing unused results.
var sink time.Duration

// BenchmarkDelay computes one delay: 30 s doubling to 5 min, ±10 %, with its random number. All use the
// global source of math/rand, which costs more than the rest. jpillora has no percentage: its jitter is
// over the whole range. failsafe-go is missing: it computes delays only inside its executor.
func BenchmarkDelay(b *testing.B) {
	b.Run("resumed", func(b *testing.B) {
		p := backoff.Default()
		rounds(b, func(n int) { sink = p.Delay(n, rand.Float64()) })
	})
	b.Run("cenkalti", func(b *testing.B) {
		next := newCenkalti(30*time.Second, 5*time.Minute)
		rounds(b, func(n int) {
			if n == 1 {
				next.Reset()
			}
			sink = next.NextBackOff()
		})
	})
	b.Run("sethvargo", func(b *testing.B) {
		var next sethvargo.Backoff
		rounds(b, func(n int) {
			if n == 1 {
				next = newSethvargo(30*time.Second, 5*time.Minute)
			}
			sink, _ = next.Next()
		})
	})
	b.Run("jpillora", func(b *testing.B) {
		next := jpillora.Backoff{Min: 30 * time.Second, Max: 5 * time.Minute, Factor: 2, Jitter: true}
		rounds(b, func(n int) { sink = next.ForAttempt(float64(n - 1)) })
	})
}

// rounds reports the time of one call in the fastest of many short rounds: a long round would also
// measure the load of the machine.
func rounds(b *testing.B, call func(n int)) {
	const calls = 1000 * schedule
	best := time.Duration(math.MaxInt64)
	b.ReportAllocs()
	for b.Loop() {
		begin := time.Now()
		for i := range calls {
			call(i%schedule + 1)
		}
		best = min(best, time.Since(begin))
	}
	b.ReportMetric(float64(best.Nanoseconds())/calls, "ns/op")
}

// BenchmarkFirstTry is the overhead for an operation that succeeds at once.
func BenchmarkFirstTry(b *testing.B) { benchmarkRun(b, 0) }

// BenchmarkThreeRetries is the overhead for an operation that fails three times. The waits are a few
// nanoseconds, so that mostly the overhead is measured.
func BenchmarkThreeRetries(b *testing.B) { benchmarkRun(b, 3) }

func benchmarkRun(b *testing.B, failures int) {
	const base, limit = time.Nanosecond, 8 * time.Nanosecond
	ctx := b.Context()
	left := 0
	op := func() error {
		if left == 0 {
			return nil
		}
		left--
		return errRefused
	}
	loop := func(b *testing.B, run func() error) {
		b.ReportAllocs()
		for b.Loop() {
			left = failures
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
	}

	b.Run("resumed", func(b *testing.B) {
		p := backoff.Default()
		p.BaseDelay, p.MaxDelay = base, limit
		attempt := func(context.Context) error { return op() }
		loop(b, func() error { return backoff.Retry(ctx, p, attempt, backoff.Options{}) })
	})
	b.Run("cenkalti", func(b *testing.B) {
		next := newCenkalti(base, limit)
		attempt := func() (struct{}, error) { return struct{}{}, op() }
		loop(b, func() error {
			_, err := cenkalti.Retry(ctx, attempt, cenkalti.WithBackOff(next), cenkalti.WithMaxTries(6))
			return err
		})
	})
	b.Run("sethvargo", func(b *testing.B) {
		attempt := func(context.Context) error { return sethvargo.RetryableError(op()) }
		loop(b, func() error {
			return sethvargo.Do(ctx, sethvargo.WithMaxRetries(5, newSethvargo(base, limit)), attempt)
		})
	})
	b.Run("failsafe", func(b *testing.B) {
		policy := retrypolicy.NewBuilder[any]().WithMaxRetries(5).WithBackoff(base, limit).WithJitterFactor(0.1).Build()
		executor := failsafe.With(policy).WithContext(ctx)
		loop(b, func() error { return executor.Run(op) })
	})
}

func newCenkalti(base, limit time.Duration) *cenkalti.ExponentialBackOff {
	next := cenkalti.NewExponentialBackOff()
	next.InitialInterval, next.MaxInterval = base, limit
	next.Multiplier, next.RandomizationFactor = 2, 0.1
	next.Reset()
	return next
}

func newSethvargo(base, limit time.Duration) sethvargo.Backoff {
	return sethvargo.WithJitterPercent(10, sethvargo.WithCappedDuration(limit, sethvargo.NewExponential(base)))
}
