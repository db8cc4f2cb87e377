package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/sanitize"
)

// retryPolicy is how a delivery that did not arrive is tried again.
var retryPolicy = backoff.Policy{
	Strategy:      backoff.Exponential,
	BaseDelay:     5 * time.Second,
	MaxDelay:      10 * time.Minute,
	Jitter:        true,
	JitterMode:    backoff.Symmetric,
	JitterPercent: 0.1,
}

const (
	// keepTrying is how old a notice may get before it is dropped.
	keepTrying = 24 * time.Hour

	// unavailablePatience is how old a notice may get while the means of its
	// channel do not exist. It covers a login in progress and a notification
	// server that restarts; on a server without a desktop nothing piles up.
	unavailablePatience = 15 * time.Minute

	// sendLimit bounds one try, whatever the channel's own timeout is.
	sendLimit = 2 * time.Minute

	// stopGrace is how long a try may go on after the end was ordered: one cut
	// off may have arrived, and would be sent again.
	stopGrace = 5 * time.Second
)

// lane delivers what one channel is to send, in its own goroutine.
type lane struct {
	n    *Notifier
	name string
	kick chan struct{} // of size 1: something below changed

	// current is the channel in use. Owned by run.
	current Channel

	mu      sync.Mutex // guards everything that follows
	channel Channel
	queue   []*item
	hold    time.Time // the other side asked for silence until then
	removed bool
	figures Figures
}

// item is a delivery in a lane.
type item struct {
	Delivery
	notice  Notice
	outcome Outcome // set once it has ended and only its record is missing
}

func newLane(n *Notifier, ch Channel) *lane {
	return &lane{
		n:       n,
		name:    ch.Name(),
		kick:    make(chan struct{}, 1),
		current: ch,
		channel: ch,
		figures: Figures{Name: ch.Name()},
	}
}

// push adds a delivery.
func (l *lane) push(d Delivery) {
	it := &item{Delivery: d}
	if err := json.Unmarshal(d.Payload, &it.notice); err != nil {
		l.n.log.Error("notice is unreadable and lost", "channel", l.name, "notice", d.ID, "err", err)
		it.outcome, it.Tries = Failed, 0
		l.n.opts.Count(l.name, Failed)
	}
	it.Payload = nil // the notice is the same, and is all that is needed
	l.mu.Lock()
	l.queue = append(l.queue, it)
	l.mu.Unlock()
	l.wake()
}

// use makes a channel the one to send by, from the next try on.
func (l *lane) use(ch Channel) {
	l.mu.Lock()
	l.channel = ch
	l.mu.Unlock()
	l.wake()
}

// remove ends the lane and what waits in it.
func (l *lane) remove() {
	l.mu.Lock()
	l.removed = true
	l.mu.Unlock()
	l.wake()
}

func (l *lane) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

func (l *lane) run(ctx context.Context) {
	defer func() { l.close(l.current) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			return
		}
		if l.renew() {
			l.n.discard(ctx, l.name, l.rest())
			return
		}
		it, wait := l.next(time.Now())
		if it != nil && wait <= 0 {
			l.attend(ctx, it)
			continue
		}
		timer.Reset(min(wait, longestSleep))
		select {
		case <-ctx.Done():
		case <-l.kick:
		case <-timer.C:
		}
	}
}

// renew takes the channel that is to be used now, and reports whether the lane
// is to end.
func (l *lane) renew() (removed bool) {
	l.mu.Lock()
	old := l.current
	l.current = l.channel
	removed = l.removed
	l.mu.Unlock()
	if old != l.current {
		l.close(old)
	}
	return removed
}

func (l *lane) close(ch Channel) {
	if c, ok := ch.(io.Closer); ok {
		if err := c.Close(); err != nil {
			l.n.log.Debug("channel did not close well", "channel", l.name, "err", err)
		}
	}
}

func (l *lane) rest() []Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []Delivery
	for _, it := range l.queue {
		rest = append(rest, it.Delivery)
	}
	l.queue = nil
	return rest
}

// next returns the delivery whose turn is next, and how long that is.
func (l *lane) next(now time.Time) (*item, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first *item
	for _, it := range l.queue {
		if (first == nil || it.NextAt.Before(first.NextAt)) && !l.mustWait(it) {
			first = it
		}
	}
	if first == nil {
		return nil, longestSleep
	}
	due := first.NextAt
	if first.outcome == "" && l.hold.After(due) {
		due = l.hold
	}
	return first, due.Sub(now)
}

// mustWait keeps good news from overtaking the bad news that it closes.
func (l *lane) mustWait(it *item) bool {
	if it.notice.Event != Recovered {
		return false
	}
	return slices.ContainsFunc(l.queue, func(other *item) bool {
		return other.notice.Account == it.notice.Account && other.At.Before(it.At)
	})
}

// attend makes one try, or records the end of one that could not be recorded.
func (l *lane) attend(ctx context.Context, it *item) {
	if it.outcome != "" {
		l.finish(ctx, it)
		return
	}
	err := l.send(ctx, it.notice)
	if err != nil && ctx.Err() != nil {
		return // cut off by our own end: no try of its own
	}
	l.judge(ctx, it, err, time.Now())
}

// send makes one try. It outlives ctx by stopGrace.
func (l *lane) send(ctx context.Context, notice Notice) error {
	tryCtx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), sendLimit,
		fmt.Errorf("not done within %s", sendLimit))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-tryCtx.Done():
		case <-time.After(stopGrace):
			cancel()
		}
	})
	defer stop()
	return l.current.Send(tryCtx, notice)
}

// judge decides what comes of a try.
func (l *lane) judge(ctx context.Context, it *item, err error, now time.Time) {
	log := l.n.log.With("channel", l.name, "notice", it.ID, "event", it.notice.Event)
	it.Tries++
	if err == nil {
		log.Debug("notice delivered", "tries", it.Tries)
		l.end(ctx, it, Delivered, "")
		return
	}
	it.LastErr = sanitize.Cut(sanitize.Text(err.Error()), 500)
	if _, ok := errors.AsType[*PermanentError](err); ok {
		log.Error("notice refused", "err", err)
		l.end(ctx, it, Failed, it.LastErr)
		return
	}
	next := now.Add(retryPolicy.Delay(it.Tries, l.n.opts.Rand()))
	limit := it.At.Add(keepTrying)
	verdict := Dropped
	if after, ok := errors.AsType[*RetryAfterError](err); ok && after.After > 0 {
		next = now.Add(after.After)
		l.quiet(next)
	}
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		limit, verdict = it.At.Add(unavailablePatience), Unavailable
		l.warnOnce("channel is not available here", err)
	} else {
		l.warnOnce("notice did not arrive and is tried again", err)
	}
	if next.After(limit) {
		if verdict == Dropped {
			log.Error("notice dropped: it could not be delivered for a day", "tries", it.Tries, "err", err)
		}
		l.end(ctx, it, verdict, it.LastErr)
		return
	}
	l.again(it, next)
}

// quiet keeps the lane from sending anything until then.
func (l *lane) quiet(until time.Time) {
	l.mu.Lock()
	l.hold = until.Round(0)
	l.mu.Unlock()
}

// warnOnce warns of a trouble when it begins or changes, not at every try.
func (l *lane) warnOnce(message string, err error) {
	text := err.Error()
	l.mu.Lock()
	known := l.figures.LastError == text
	l.figures.LastError = text
	l.mu.Unlock()
	if known {
		l.n.log.Debug(message, "channel", l.name, "err", err)
		return
	}
	l.n.log.Warn(message, "channel", l.name, "err", err)
}

// again schedules the next try.
func (l *lane) again(it *item, next time.Time) {
	l.mu.Lock()
	it.NextAt = next.UTC().Round(0)
	l.mu.Unlock()
	l.n.opts.Store.Tried(it.ID, l.name, it.Tries, it.NextAt, it.LastErr)
}

// end settles a delivery.
func (l *lane) end(ctx context.Context, it *item, outcome Outcome, lastErr string) {
	l.mu.Lock()
	it.outcome = outcome
	switch outcome {
	case Delivered:
		l.figures.Delivered++
	default:
		l.figures.Failed++
	}
	l.figures.LastError = lastErr
	l.mu.Unlock()
	l.n.opts.Count(l.name, outcome)
	it.Tries = 0 // counts from here on how often the record was refused
	l.finish(ctx, it)
}

// finish records the end of a delivery. It is never sent again because its end
// could not be recorded: only the record is tried again. A stop that was
// ordered meanwhile does not cost the record.
func (l *lane) finish(ctx context.Context, it *item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err := l.n.opts.Store.Done(ctx, it.ID, l.name, string(it.outcome))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if it.Tries++; it.Tries == 1 {
			l.n.log.Error("end of a delivery cannot be stored", "channel", l.name, "notice", it.ID, "err", err)
		}
		it.NextAt = time.Now().Round(0).Add(storePolicy.Delay(it.Tries, 0))
		return
	}
	l.queue = slices.DeleteFunc(l.queue, func(other *item) bool { return other == it })
}
