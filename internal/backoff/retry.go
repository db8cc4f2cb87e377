package backoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Options say how Retry runs an operation. The zero Options retry every error.
type Options struct {
	// Retryable says whether an attempt after this error makes sense. Nil: after every error. It is not
	// called when the caller's context is done.
	Retryable func(error) bool

	// PolicyFor returns the policy after an error, if it depends on the error. Retries made so far
	// still count. Nil: the policy of the call.
	PolicyFor func(error) Policy

	// ServerDelay returns the wait that the server asked for, which wins over the policy's. Nil: it asks
	// for none.
	//
	// A delay of 0 or less is a stated time that has passed, and means now; but not twice in a row,
	// otherwise a server that always says "now" would cause a tight loop. Then the policy's delay is
	// used.
	ServerDelay func(error) (time.Duration, bool)

	// OnRetry is called before the wait of each retry.
	OnRetry func(Upcoming)

	// Rand returns the random number in [0, 1) for the jitter. Nil: rand.Float64.
	Rand func() float64
}

// Upcoming is a retry after a wait that begins now.
type Upcoming struct {
	Retry      int // counts from 1: "retry 2 of 5"
	MaxRetries int
	Err        error         // of the last attempt
	Delay      time.Duration // the wait before it
	At         time.Time     // when the wait ends
}

// Retry runs op until it returns nil, and waits between attempts by the policy. It runs op 1 +
// p.MaxRetries times at most, and not again once p.MaxElapsed has passed since the first failure; with
// 0 or fewer retries it runs once. It returns:
//
//   - nil: op succeeded;
//   - op's own error, unchanged: it was not Retryable;
//   - *ExhaustedError: the retries ran out, or no wait could end before ctx's deadline;
//   - *InterruptedError: ctx was done, before op, during it or during a wait.
//
// Retry waits until op returns, so op must respect its context. A panic of op is not recovered.
func Retry(ctx context.Context, p Policy, op func(context.Context) error, opts Options) error {
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	var last error
	var firstFailed time.Time
	delay := time.Duration(-1) // the last wait; negative: there was none
	for made := 0; ; {
		if ctx.Err() != nil {
			return &InterruptedError{Attempts: made, Last: last, Err: ctx.Err(), Cause: context.Cause(ctx)}
		}
		if last = op(ctx); last == nil {
			return nil
		}
		if made++; ctx.Err() != nil {
			continue
		}
		failed := time.Now()
		if made == 1 {
			firstFailed = failed
		}
		if opts.Retryable != nil && !opts.Retryable(last) {
			return last
		}
		if opts.PolicyFor != nil {
			p = opts.PolicyFor(last)
		}
		elapsed := failed.Sub(firstFailed)
		if p.Spent(made-1, elapsed) {
			return &ExhaustedError{Attempts: made, Last: last}
		}
		delay = opts.delay(p, made, elapsed, last, delay == 0)
		if deadline, ok := ctx.Deadline(); ok && delay >= time.Until(deadline) {
			return &ExhaustedError{Attempts: made, Last: last, OutOfTime: true, Wait: delay}
		}
		due := failed.Add(delay)
		if opts.OnRetry != nil {
			opts.OnRetry(Upcoming{Retry: made, MaxRetries: p.MaxRetries, Err: last, Delay: delay, At: due})
		}
		waitUntil(ctx, due)
	}
}

// delay returns the wait that the server asked for, otherwise the policy's.
func (o Options) delay(p Policy, retry int, elapsed time.Duration, err error, waitedNone bool) time.Duration {
	formula := p.Delay(retry, o.Rand())
	if o.ServerDelay != nil {
		if asked, ok := o.ServerDelay(err); ok && (asked > 0 || !waitedNone) {
			return max(0, asked)
		}
	}
	if p.MaxElapsed > 0 {
		return min(formula, max(0, p.MaxElapsed-elapsed)) // the last try is made when the time is up
	}
	return formula
}

// nap is the longest time between two checks of the wall clock.
const nap = time.Minute

// waitUntil returns at due, or as soon as ctx is done. Timers stop while a machine is suspended, so the
// wall clock is checked regularly: a wait of hours ends soon after a laptop wakes. The clock that is
// ahead decides: if the wall clock is set back, the wait must not become longer.
func waitUntil(ctx context.Context, due time.Time) {
	wall := due.Round(0) // without its monotonic reading
	for ctx.Err() == nil {
		now := time.Now()
		left := min(due.Sub(now), wall.Sub(now))
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(left, nap)):
		}
	}
}

// ExhaustedError is an operation that never succeeded: its retries, or the time for another wait, ran
// out. It unwraps to the last error. If time ran out, errors.Is(err, context.DeadlineExceeded) is true
// too.
type ExhaustedError struct {
	Attempts int
	Last     error // of the last attempt

	// OutOfTime is true if retries were left but the next wait, which is Wait, would not have ended
	// before the caller's deadline.
	OutOfTime bool
	Wait      time.Duration
}

func (e *ExhaustedError) Error() string {
	tried := count(e.Attempts, "attempt", "attempts")
	if e.OutOfTime {
		return fmt.Sprintf("gave up after %s with no time left to wait %s: %v", tried, FormatDuration(e.Wait), e.Last)
	}
	return fmt.Sprintf("gave up after %s: %v", tried, e.Last)
}

// Unwrap returns the last attempt's error.
func (e *ExhaustedError) Unwrap() error { return e.Last }

// Is matches context.DeadlineExceeded if time ran out.
func (e *ExhaustedError) Is(target error) bool {
	return e.OutOfTime && target == context.DeadlineExceeded
}

// InterruptedError is an operation that ended because the caller's context was done. It unwraps to the
// context's error and to its cause, but not to an error of the operation.
type InterruptedError struct {
	Attempts int
	Last     error // of the last attempt; nil if none began
	Err      error // context.Canceled or context.DeadlineExceeded
	Cause    error // context.Cause
}

func (e *InterruptedError) Error() string {
	text := fmt.Sprintf("interrupted after %s: %v", count(e.Attempts, "attempt", "attempts"), e.Cause)
	if e.Last != nil {
		text += fmt.Sprintf(" (last error: %v)", e.Last)
	}
	return text
}

// Unwrap returns the context's error and its cause.
func (e *InterruptedError) Unwrap() []error { return []error{e.Err, e.Cause} }
