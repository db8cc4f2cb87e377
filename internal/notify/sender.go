package notify

import (
	"cmp"
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

	// secondChance is how long a notice that an earlier process left is tried,
	// however old it is by the clock: the machine may have been off, or the clock
	// wrong.
	secondChance = time.Hour

	// longestSilence is how long the other side may ask to be left alone. Who asks
	// for more has said nothing that can be believed.
	longestSilence = time.Hour

	// lookAgain is how often it is tried at least whether the means of a channel exist by
	// now: who logs in in the morning is told then what happened at night.
	lookAgain = time.Minute

	// sendLimit bounds one try, whatever the channel's own timeout is.
	sendLimit = 2 * time.Minute

	// stopGrace is how long a try may go on after the end was ordered: one cut
	// off may have arrived, and would be sent again.
	stopGrace = 5 * time.Second
)

// sender delivers what one channel is to send, in its own goroutine.
type sender struct {
	n    *Notifier
	name string
	kick chan struct{} // of size 1: something below changed

	// current is the channel in use, and clock what it was last seen at. Owned by
	// run.
	current Channel
	clock   clock

	mu      sync.Mutex // guards everything that follows
	channel Channel
	queue   []*item
	hold    time.Time // the other side asked for silence until then
	removed bool
	figures Figures
}

// item is a delivery in a sender's queue.
type item struct {
	Delivery
	notice  Notice
	taken   time.Time // when it came into the queue
	outcome Outcome   // set once it has ended and only its record is missing
}

func newSender(n *Notifier, ch Channel) *sender {
	return &sender{
		n:       n,
		name:    ch.Name(),
		kick:    make(chan struct{}, 1),
		current: ch,
		clock:   clock{wall: n.now(), lived: time.Now()},
		channel: ch,
		figures: Figures{Name: ch.Name()},
	}
}

// push adds a delivery.
func (s *sender) push(d Delivery) {
	it := &item{Delivery: d, taken: s.n.now()}
	it.settleClock()
	if err := json.Unmarshal(d.Payload, &it.notice); err != nil {
		s.n.log.Error("notice is unreadable and lost", "channel", s.name, "notice", d.ID, "err", err)
		it.outcome, it.Tries = Failed, 0
		s.n.opts.Count(s.name, Failed)
	}
	it.Payload = nil // the notice is the same, and is all that is needed
	s.mu.Lock()
	s.queue = append(s.queue, it)
	s.mu.Unlock()
	s.n.opts.Changed()
	s.wake()
}

// use makes a channel the one to send by, from the next try on.
func (s *sender) use(ch Channel) {
	s.mu.Lock()
	s.channel = ch
	s.mu.Unlock()
	s.wake()
}

// remove ends the sender and what waits in it.
func (s *sender) remove() {
	s.mu.Lock()
	s.removed = true
	s.mu.Unlock()
	s.wake()
}

func (s *sender) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *sender) run(ctx context.Context) {
	hush := s.listen(ctx)
	defer func() {
		hush()
		s.close(s.current)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if ctx.Err() != nil {
			return
		}
		before := s.current
		removed := s.renew()
		if s.current != before {
			hush()
			hush = s.listen(ctx)
		}
		if removed {
			s.n.discard(ctx, s.name, s.rest())
			return
		}
		s.watchClock()
		it, wait := s.next(s.n.now())
		if it != nil && wait <= 0 {
			s.attend(ctx, it)
			continue
		}
		timer.Reset(min(wait, longestSleep))
		select {
		case <-ctx.Done():
		case <-s.kick:
		case <-timer.C:
		}
	}
}

// listen hears what people answer by the channel, until it is told to stop.
func (s *sender) listen(ctx context.Context) (hush func()) {
	ears, ok := s.current.(Listener)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() { ears.Listen(ctx, s.n.log) })
	return func() {
		cancel()
		ended.Wait()
	}
}

// renew takes the channel that is to be used now, and reports whether the
// sender is to end.
func (s *sender) renew() (removed bool) {
	s.mu.Lock()
	old := s.current
	s.current = s.channel
	removed = s.removed
	s.mu.Unlock()
	if old != s.current {
		s.close(old)
	}
	return removed
}

func (s *sender) close(ch Channel) {
	if c, ok := ch.(io.Closer); ok {
		if err := c.Close(); err != nil {
			s.n.log.Debug("channel did not close well", "channel", s.name, "err", err)
		}
	}
}

func (s *sender) rest() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rest []Delivery
	for _, it := range s.queue {
		rest = append(rest, it.Delivery)
	}
	s.queue = nil
	return rest
}

// next returns the delivery whose turn is next, and how long that is.
func (s *sender) next(now time.Time) (*item, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *item
	for _, it := range s.queue {
		if (first == nil || it.NextAt.Before(first.NextAt)) && !s.mustWait(it) {
			first = it
		}
	}
	if first == nil {
		return nil, longestSleep
	}
	due := first.NextAt
	if first.outcome == "" && s.hold.After(due) {
		due = s.hold
	}
	return first, due.Sub(now)
}

// mustWait keeps good news from overtaking the bad news that it closes.
func (s *sender) mustWait(it *item) bool {
	if it.notice.Event != Recovered {
		return false
	}
	before := s.queue[:slices.Index(s.queue, it)]
	return slices.ContainsFunc(before, func(other *item) bool { return other.notice.Account == it.notice.Account })
}

// attend makes one try, or records the end of one that could not be recorded.
func (s *sender) attend(ctx context.Context, it *item) {
	if it.outcome != "" {
		s.finish(ctx, it)
		return
	}
	err := s.send(ctx, it.notice)
	if err != nil && ctx.Err() != nil {
		return // cut off by our own end: no try of its own
	}
	s.watchClock()
	s.judge(ctx, it, err, s.n.now())
}

// send makes one try. It outlives ctx by stopGrace.
func (s *sender) send(ctx context.Context, notice Notice) error {
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
	_, err := s.current.Send(tryCtx, s.current.Word(notice))
	return err
}

// judge decides what comes of a try.
func (s *sender) judge(ctx context.Context, it *item, err error, now time.Time) {
	log := s.n.log.With("channel", s.name, "notice", it.ID, "event", it.notice.Event)
	it.Tries++
	if err == nil {
		log.Debug("notice delivered", "tries", it.Tries)
		s.end(ctx, it, Delivered, "")
		return
	}
	it.LastErr = sanitize.Cut(sanitize.Text(err.Error()), 500)
	if _, ok := errors.AsType[*PermanentError](err); ok {
		log.Error("notice refused", "err", err)
		s.end(ctx, it, Failed, it.LastErr)
		return
	}
	next := now.Add(retryPolicy.Delay(it.Tries, s.n.opts.Rand()))
	limit := later(it.At.Add(keepTrying), it.taken.Add(secondChance))
	verdict := Dropped
	if after, ok := errors.AsType[*RetryAfterError](err); ok && after.After > 0 {
		next = now.Add(min(after.After, longestSilence))
		if after.After <= longestSilence {
			s.quiet(next)
		}
	}
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		next, verdict = earlier(next, now.Add(lookAgain)), Unavailable
		s.quiet(next) // one look is enough for all that waits
		s.warnOnce("channel is not available here", err)
	} else {
		s.warnOnce("notice did not arrive and is tried again", err)
	}
	if next.After(limit) {
		if verdict == Dropped {
			log.Error("notice dropped: it could not be delivered for a day", "tries", it.Tries, "err", err)
		}
		s.end(ctx, it, verdict, it.LastErr)
		return
	}
	s.again(it, next)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// quiet keeps the sender from sending anything until then.
func (s *sender) quiet(until time.Time) {
	s.mu.Lock()
	s.hold = until.Round(0)
	s.mu.Unlock()
}

// warnOnce warns of a trouble when it begins or changes, not at every try.
//
//nolint:sloglint // its callers say a constant
func (s *sender) warnOnce(message string, err error) {
	text := err.Error()
	s.mu.Lock()
	known := s.figures.LastError == text
	s.figures.LastError = text
	s.mu.Unlock()
	if known {
		s.n.log.Debug(message, "channel", s.name, "err", err)
		return
	}
	s.n.opts.Changed()
	s.n.log.Warn(message, "channel", s.name, "err", err)
}

// again schedules the next try.
func (s *sender) again(it *item, next time.Time) {
	s.mu.Lock()
	it.NextAt = next.UTC().Round(0)
	s.mu.Unlock()
	s.n.opts.Store.Tried(it.ID, s.name, it.Tries, it.NextAt, it.LastErr)
}

// end settles a delivery.
func (s *sender) end(ctx context.Context, it *item, outcome Outcome, lastErr string) {
	s.mu.Lock()
	it.outcome = outcome
	switch outcome {
	case Delivered:
		s.figures.Delivered++
	default:
		s.figures.Failed++
	}
	s.figures.LastError = lastErr
	s.mu.Unlock()
	s.n.opts.Count(s.name, outcome)
	s.n.opts.Changed()
	it.Tries = 0 // counts from here on how often the record was refused
	s.finish(ctx, it)
}

// finish records the end of a delivery. It is never sent again because its end
// could not be recorded: only the record is tried again. A stop that was
// ordered meanwhile does not cost the record.
func (s *sender) finish(ctx context.Context, it *item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err := s.n.opts.Store.Done(ctx, it.ID, s.name, string(it.outcome))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if it.Tries++; it.Tries == 1 {
			s.n.log.Error("end of a delivery cannot be stored", "channel", s.name, "notice", it.ID, "err", err)
		}
		it.NextAt = s.n.now().Add(storePolicy.Delay(it.Tries, 0))
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(other *item) bool { return other == it })
}

// Figures are what status and metrics show of one channel.
type Figures struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`   // deliveries that have not ended
	Delivered int    `json:"delivered"` // since the start
	Failed    int    `json:"failed"`    // since the start: refused, dropped or unavailable
	LastError string `json:"last_error,omitempty"`
}

// Figures returns the figures of every channel, by name.
func (n *Notifier) Figures() []Figures {
	n.mu.Lock()
	senders := n.senders
	n.mu.Unlock()
	all := make([]Figures, 0, len(senders))
	for _, s := range senders {
		s.mu.Lock()
		f := s.figures
		for _, it := range s.queue {
			if it.outcome == "" {
				f.Pending++
			}
		}
		s.mu.Unlock()
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Figures) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Pending returns how many deliveries have not ended.
func (n *Notifier) Pending() int {
	total := 0
	for _, f := range n.Figures() {
		total += f.Pending
	}
	return total
}
