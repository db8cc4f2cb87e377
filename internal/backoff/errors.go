package backoff

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError is an attempt that took longer than Options.Timeout. It is never the caller's own
// deadline: errors.Is(err, context.DeadlineExceeded) is false for it.
type TimeoutError struct {
	After time.Duration // the time that the attempt had
	Err   error         // what the operation returned; nil if it was not run
}

func (e *TimeoutError) Error() string {
	if e.After < 0 {
		return "timed out before it began"
	}
	if e.Err == nil || errors.Is(e.Err, context.DeadlineExceeded) {
		return fmt.Sprintf("timed out after %s", FormatDuration(e.After))
	}
	return fmt.Sprintf("timed out after %s: %v", FormatDuration(e.After), e.Err)
}

// Unwrap returns the operation's error, but not a deadline: it was the attempt's own, and must not look
// like the caller's.
func (e *TimeoutError) Unwrap() error {
	if errors.Is(e.Err, context.DeadlineExceeded) {
		return nil
	}
	return e.Err
}

// ExhaustedError is an operation that never succeeded: its retries, or the time for another wait, ran
// out. It unwraps to the last error. If time ran out, errors.Is(err, context.DeadlineExceeded) is true
// too.
type ExhaustedError struct {
	History []Attempt // every attempt, oldest first; at least one

	// OutOfTime is true if retries were left but the next wait, which is Wait, would not have ended
	// before the caller's deadline.
	OutOfTime bool
	Wait      time.Duration
}

func (e *ExhaustedError) Error() string {
	tried := count(len(e.History), "attempt", "attempts")
	if e.OutOfTime {
		return fmt.Sprintf("gave up after %s with no time left to wait %s: %v", tried, FormatDuration(e.Wait), e.Unwrap())
	}
	return fmt.Sprintf("gave up after %s: %v", tried, e.Unwrap())
}

// Unwrap returns the last attempt's error.
func (e *ExhaustedError) Unwrap() error { return lastError(e.History) }

// Is matches context.DeadlineExceeded if time ran out.
func (e *ExhaustedError) Is(target error) bool {
	return e.OutOfTime && target == context.DeadlineExceeded
}

// InterruptedError is an operation that ended because the caller's context was done. It unwraps to the
// context's error and to its cause, but not to errors of the operation: those are in its history.
type InterruptedError struct {
	History []Attempt // every attempt, oldest first; empty if none began
	Err     error     // context.Canceled or context.DeadlineExceeded
	Cause   error     // context.Cause
}

func (e *InterruptedError) Error() string {
	text := fmt.Sprintf("interrupted after %s: %v", count(len(e.History), "attempt", "attempts"), e.Cause)
	if last := lastError(e.History); last != nil {
		text += fmt.Sprintf(" (last error: %v)", last)
	}
	return text
}

// Unwrap returns the context's error and its cause.
func (e *InterruptedError) Unwrap() []error { return []error{e.Err, e.Cause} }

func lastError(history []Attempt) error {
	if len(history) == 0 {
		return nil
	}
	return history[len(history)-1].Err
}
