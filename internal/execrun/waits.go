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

// Warn reports a problem that does not stop the run.
func (o Options) Warn(err error) { o.say(err.Error()) }

func (o Options) say(text string) {
	fmt.Fprintf(o.Messages, "resumed: %s\n", sanitize.Line(text))
}

// showWait shows a wait until the returned function is called: as a countdown if the line can be
// rewritten, otherwise as one line per wait.
func (o Options) showWait(next backoff.Upcoming) (over func()) {
	why := next.Err.Error()
	if f, ok := errors.AsType[*Failure](next.Err); ok && f.allowed > 0 {
		why = f.timedOut() // how it ended after the timeout does not matter
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

func countDown(out io.Writer, until time.Time, then string, quit <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	const clearLine = "\r\x1b[K"
	for {
		// Rounded up, so that "in 0s" means over.
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
