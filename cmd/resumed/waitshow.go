//go:build !windows

package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

// waitShow tells a person at the terminal what is waited for: by a line that
// counts down where it can be rewritten, and by one line a wait elsewhere.
type waitShow struct {
	out  io.Writer
	live bool
}

// say prints one line that stays.
func (w *waitShow) say(format string, args ...any) {
	fmt.Fprintf(w.out, "resumed: %s\n", sanitize.Line(fmt.Sprintf(format, args...)))
}

// begin shows a wait until the function that it returns is called.
func (w *waitShow) begin(next backoff.Upcoming) (over func()) {
	why := next.Err.Error()
	if timeout, ok := errors.AsType[*backoff.TimeoutError](next.Err); ok {
		why = (&backoff.TimeoutError{After: timeout.After}).Error() // how it died of that tells nothing
	}
	then := fmt.Sprintf("retry %d", next.Retry)
	if next.MaxRetries > 0 {
		then += fmt.Sprintf(" of %d", next.MaxRetries)
	}
	if !w.live {
		w.say("%s: %s at %s, in %s", why, then, humanize.Clock(next.At, time.Now()), brief(next.Delay.Seconds()))
		return func() {}
	}
	w.say("%s", why)
	quit := make(chan struct{})
	var drawn sync.WaitGroup
	drawn.Go(func() { w.countDown(next.At, then, quit) })
	return sync.OnceFunc(func() {
		close(quit)
		drawn.Wait()
	})
}

// countDown rewrites one line until quit is closed.
func (w *waitShow) countDown(until time.Time, then string, quit <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	const clearLine = "\r\x1b[K"
	for {
		// Rounded up: "in 0s" is over.
		left := max(0, time.Until(until.Round(0))) + time.Second - time.Nanosecond
		fmt.Fprintf(w.out, "%sresumed: %s in %s (%s), Ctrl-C stops", clearLine, then,
			humanize.Span(left.Truncate(time.Second)), humanize.Clock(until, time.Now()))
		select {
		case <-quit:
			fmt.Fprint(w.out, clearLine)
			return
		case <-ticker.C:
		}
	}
}
