package execrun

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

// Warn tells a person something that does not stop the run.
func (o Options) Warn(err error) { o.say(err.Error()) }

// say prints one line that stays.
func (o Options) say(text string) {
	fmt.Fprintf(o.Messages, "resumed: %s\n", sanitize.Line(text))
}

// showWait shows a wait until the function that it returns is called: by a line that
// counts down where it can be rewritten, and by one line a wait elsewhere.
func (o Options) showWait(next backoff.Upcoming) (over func()) {
	why := next.Err.Error()
	if timeout, ok := errors.AsType[*backoff.TimeoutError](next.Err); ok {
		why = (&backoff.TimeoutError{After: timeout.After}).Error() // how it died of that tells nothing
	}
	then := fmt.Sprintf("retry %d", next.Retry)
	if next.MaxRetries > 0 {
		then += fmt.Sprintf(" of %d", next.MaxRetries)
	}
	if !o.Live {
		o.say(fmt.Sprintf("%s: %s at %s, in %s", why, then, humanize.Clock(next.At, time.Now()), humanize.Seconds(next.Delay.Seconds())))
		return func() {}
	}
	o.say(why)
	quit := make(chan struct{})
	var drawn sync.WaitGroup
	drawn.Go(func() { countDown(o.Messages, next.At, then, quit) })
	return sync.OnceFunc(func() {
		close(quit)
		drawn.Wait()
	})
}

// countDown rewrites one line until quit is closed.
func countDown(out io.Writer, until time.Time, then string, quit <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	const clearLine = "\r\x1b[K"
	for {
		// Rounded up: "in 0s" is over.
		left := max(0, time.Until(until.Round(0))) + time.Second - time.Nanosecond
		fmt.Fprintf(out, "%sresumed: %s in %s (%s), Ctrl-C stops", clearLine, then,
			humanize.Span(left.Truncate(time.Second)), humanize.Clock(until, time.Now()))
		select {
		case <-quit:
			fmt.Fprint(out, clearLine)
			return
		case <-ticker.C:
		}
	}
}
