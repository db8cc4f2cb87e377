package backoff

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Options say how Retry runs an operation. The zero Options retry every error
// and set no timeout.
type Options struct {
	// Timeout is how long one attempt may take; 0: no bound. If it is negative, the time is already
	// over and the operation is not run.
	Timeout time.Duration

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

	// Rand returns the random number in [0, 1) for the jitter. Nil: math/rand/v2, which is different in
	// each process.
	Rand func() float64
}

// Attempt is one run of an operation that failed.
type Attempt struct {
	EndedAt time.Time
	Err     error
	Delay   time.Duration // the wait after it; 0 after the last
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
//   - *InterruptedError: ctx was done, before op, during it or during a wait;
//   - *TimeoutError, as one of the errors above: an attempt took too long.
//
// An attempt's context ends with opts.Timeout or with ctx, whichever is first; op must respect it,
// because Retry waits until op returns. A panic of op is not recovered.
func Retry(ctx context.Context, p Policy, op func(context.Context) error, opts Options) error {
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	r := run{opts: opts, policy: p}
	for {
		if ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		if opts.Timeout < 0 {
			return &TimeoutError{After: opts.Timeout}
		}
		err := attempt(ctx, opts.Timeout, op)
		if err == nil {
			return nil
		}
		if done, err := r.failed(ctx, Attempt{EndedAt: time.Now(), Err: err}); done {
			return err
		}
	}
}

// run is one call of Retry.
type run struct {
	opts    Options
	policy  Policy
	history []Attempt
}

// failed decides what follows a failed attempt, and waits if that is another one. It reports whether
// the run is over, and its error.
func (r *run) failed(ctx context.Context, made Attempt) (done bool, err error) {
	if ctx.Err() != nil {
		r.history = append(r.history, made)
		return true, r.interrupted(ctx)
	}
	if r.opts.Retryable != nil && !r.opts.Retryable(made.Err) {
		return true, made.Err
	}
	if r.opts.PolicyFor != nil {
		r.policy = r.opts.PolicyFor(made.Err)
	}
	first := made
	if len(r.history) > 0 {
		first = r.history[0]
	}
	elapsed, retry := made.EndedAt.Sub(first.EndedAt), len(r.history)+1
	if r.policy.Spent(retry-1, elapsed) {
		return true, &ExhaustedError{History: append(r.history, made)}
	}
	delay, stated := r.heed(made.Err, r.policy.Delay(retry, r.opts.Rand()))
	if bound := r.policy.MaxElapsed; bound > 0 && !stated {
		delay = min(delay, max(0, bound-elapsed)) // the last try is made when the time is up
	}
	if deadline, ok := ctx.Deadline(); ok && delay >= time.Until(deadline) {
		return true, &ExhaustedError{History: append(r.history, made), OutOfTime: true, Wait: delay}
	}
	made.Delay = delay
	r.history = append(r.history, made)
	due := made.EndedAt.Add(delay)
	if r.opts.OnRetry != nil {
		r.opts.OnRetry(Upcoming{Retry: retry, MaxRetries: r.policy.MaxRetries, Err: made.Err, Delay: delay, At: due})
	}
	waitUntil(ctx, due)
	return false, nil
}

// heed returns the wait that the server asked for, otherwise the policy's.
func (r *run) heed(err error, formula time.Duration) (delay time.Duration, stated bool) {
	if r.opts.ServerDelay == nil {
		return formula, false
	}
	asked, ok := r.opts.ServerDelay(err)
	if !ok {
		return formula, false
	}
	if asked > 0 {
		return asked, true
	}
	if n := len(r.history); n > 0 && r.history[n-1].Delay == 0 {
		return formula, false
	}
	return 0, true
}

func (r *run) interrupted(ctx context.Context) error {
	return &InterruptedError{History: r.history, Err: ctx.Err(), Cause: context.Cause(ctx)}
}

// attempt runs op once. The timeout counts as the attempt's own only if it is before the caller's
// deadline; if both are at the same time, it is the caller's.
func attempt(ctx context.Context, timeout time.Duration, op func(context.Context) error) error {
	deadline, bounded := ctx.Deadline()
	if timeout == 0 || bounded && time.Until(deadline) <= timeout {
		return op(ctx)
	}
	expired := &TimeoutError{After: timeout}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, expired)
	defer cancel() // also when op panics
	err := op(limited)
	if err != nil && errors.Is(context.Cause(limited), expired) {
		// A killed command or a broken connection does not mention the deadline that ended it, but the
		// context does.
		return &TimeoutError{After: timeout, Err: err}
	}
	return err
}

// nap is the longest time between two checks of the wall clock.
const nap = time.Minute

// waitUntil returns at due, or as soon as ctx is done. Timers stop while a machine is suspended, so the
// wall clock is checked regularly: a wait of hours ends soon after a laptop wakes. The clock that is
// ahead decides: if the wall clock is set back, the wait must not become longer.
func waitUntil(ctx context.Context, due time.Time) {
	wall := due.Round(0) // without its monotonic reading
	for {
		now := time.Now()
		left := min(due.Sub(now), wall.Sub(now))
		if left <= 0 {
			return
		}
		timer := time.NewTimer(min(left, nap))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
