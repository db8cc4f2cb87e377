package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/sanitize"
)

// retryPolicy is how a failed delivery is tried again.
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

	// secondChance is how long a notice of an earlier process is tried, however old it is by the clock:
	// the machine may have been off, or the clock wrong.
	secondChance = time.Hour

	// maxSilence is the longest pause that a server may ask for. A longer one is not believed.
	maxSilence = time.Hour

	// lookAgain is how often at least an unavailable channel is tried again: a person who logs in in
	// the morning gets the notices of the night then.
	lookAgain = time.Minute

	// sendLimit bounds one try, whatever the channel's own timeout is.
	sendLimit = 2 * time.Minute

	// stopGrace is how long a try may continue after a stop: one that is cut off may have arrived, and
	// would be sent again.
	stopGrace = 5 * time.Second

	// clockJump is by how much the wall clock must advance more than the monotonic clock to count as a
	// sleep of the machine.
	clockJump = time.Minute
)

// sender delivers the notices of one channel, in its own goroutine. It uses monotonic times: setting
// the clock does not change how long a notice is tried.
type sender struct {
	n           *Notifier
	name        string
	kick        chan struct{} // of size 1: a field below has changed
	lived, wall time.Time     // both clocks when they were last compared. Owned by run.

	mu         sync.Mutex // guards everything that follows
	channel    Channel    // nil: it is no longer configured
	queue      []*item
	quietUntil time.Time // the server asked for a pause until then
	figures    Figures
}

// item is a delivery in a sender's queue.
type item struct {
	Delivery
	notice  Notice
	due     time.Time // when it is tried next
	until   time.Time // when it is dropped
	outcome Outcome   // set once it has ended and only its record is missing
}

func newSender(n *Notifier, ch Channel) *sender {
	return &sender{
		n: n, name: ch.Name(), kick: make(chan struct{}, 1), lived: time.Now(), wall: n.now(), channel: ch,
		figures: Figures{Name: ch.Name()},
	}
}

// push adds a delivery. Its times come from a clock that may have been set since: no notice is from the
// future, and none has to wait for longer than maxSilence.
func (s *sender) push(d Delivery) {
	now, wall := time.Now(), s.n.now()
	age := max(wall.Sub(d.At), 0)
	it := &item{Delivery: d, due: now, until: now.Add(max(keepTrying-age, secondChance))}
	if wait := d.NextAt.Sub(wall); d.Tries > 0 && wait > 0 && wait <= maxSilence {
		it.due = now.Add(wait)
	}
	if err := json.Unmarshal(d.Payload, &it.notice); err != nil {
		s.n.log.Error("notice is unreadable and lost", "channel", s.name, "notice", d.ID, "err", err)
		it.outcome, it.Tries = Failed, 0
		s.n.opts.Count(s.name, Failed)
	}
	it.Payload = nil // only the notice is needed
	s.mu.Lock()
	s.queue = append(s.queue, it)
	s.mu.Unlock()
	s.n.opts.Changed()
	signal(s.kick)
}

// use sets the channel for the next tries. nil stops the sender.
func (s *sender) use(ch Channel) {
	s.mu.Lock()
	s.channel = ch
	s.mu.Unlock()
	signal(s.kick)
}

func (s *sender) inUse() Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel
}

func (s *sender) run(ctx context.Context) {
	for ctx.Err() == nil {
		ch := s.inUse()
		if ch == nil {
			s.n.discard(ctx, s.rest())
			return
		}
		s.serve(ctx, ch)
	}
}

// serve sends with a channel, and receives orders from it, until the channel is replaced.
func (s *sender) serve(ctx context.Context, ch Channel) {
	listening, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	if l, ok := ch.(Listener); ok {
		ended.Go(func() { l.Listen(listening, s.n.log) })
	}
	defer func() {
		stop()
		ended.Wait()
		if c, ok := ch.(io.Closer); ok {
			if err := c.Close(); err != nil {
				s.n.log.Debug("channel did not close well", "channel", s.name, "err", err)
			}
		}
	}()
	for ctx.Err() == nil && s.inUse() == ch {
		s.catchUp()
		it, wait := s.next(time.Now())
		if it != nil && wait <= 0 {
			s.attend(ctx, ch, it)
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.kick:
		case <-time.After(min(wait, longestSleep)):
		}
	}
}

// catchUp makes items due that became due by the wall clock while the machine slept.
func (s *sender) catchUp() {
	now, wall := time.Now(), s.n.now()
	slept := wall.Sub(s.wall) - now.Sub(s.lived)
	s.lived, s.wall = now, wall
	if slept < clockJump {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quietUntil = s.quietUntil.Add(-slept)
	for _, it := range s.queue {
		it.due = it.due.Add(-slept)
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

// next returns the delivery that is due next, and how long until then.
func (s *sender) next(now time.Time) (*item, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *item
	for _, it := range s.queue {
		if (first == nil || it.due.Before(first.due)) && !s.mustWait(it) {
			first = it
		}
	}
	if first == nil {
		return nil, longestSleep
	}
	due := first.due
	if first.outcome == "" && s.quietUntil.After(due) {
		due = s.quietUntil
	}
	return first, due.Sub(now)
}

// mustWait keeps a notice about a recovery from overtaking earlier notices of its account.
func (s *sender) mustWait(it *item) bool {
	if it.notice.Event != Recovered {
		return false
	}
	before := s.queue[:slices.Index(s.queue, it)]
	return slices.ContainsFunc(before, func(other *item) bool { return other.notice.Account == it.notice.Account })
}

// attend makes one try, or tries again to store the end of a delivery.
func (s *sender) attend(ctx context.Context, ch Channel, it *item) {
	if it.outcome != "" {
		s.record(ctx, it)
		return
	}
	err := send(ctx, ch, it.notice)
	if err != nil && ctx.Err() != nil {
		return // cut off because we stop: it does not count as a try
	}
	it.Tries++
	if err != nil {
		s.failed(ctx, it, err)
		return
	}
	s.n.log.Debug("notice delivered", "channel", s.name, "notice", it.ID, "event", it.notice.Event, "tries", it.Tries)
	s.end(ctx, it, Delivered)
}

// send makes one try. It may continue for stopGrace after ctx is done.
func send(ctx context.Context, ch Channel, notice Notice) error {
	tryCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-tryCtx.Done():
		case <-time.After(stopGrace):
			cancel()
		}
	})()
	return try(tryCtx, ch, notice).Err
}

// failed decides what happens after a failed try.
func (s *sender) failed(ctx context.Context, it *item, err error) {
	log := s.n.log.With("channel", s.name, "notice", it.ID, "event", it.notice.Event)
	it.LastErr = sanitize.Cut(sanitize.Text(err.Error()), 500)
	wait, quiet, verdict := retryPolicy.Delay(it.Tries, s.n.opts.Rand()), false, Dropped
	switch refused, _ := errors.AsType[*SendError](err); {
	case refused == nil:
	case refused.Final:
		log.Error("notice refused", "err", err)
		s.end(ctx, it, Failed)
		return
	case refused.Missing:
		wait, quiet, verdict = min(wait, lookAgain), true, Unavailable // one try is enough for all waiting notices
	case refused.After > 0:
		wait, quiet = min(refused.After, maxSilence), refused.After <= maxSilence
	}
	s.warnOnce(err, verdict)
	now := time.Now()
	if now.Add(wait).After(it.until) {
		if verdict == Dropped {
			log.Error("notice dropped: it could not be delivered for a day", "tries", it.Tries, "err", err)
		}
		s.end(ctx, it, verdict)
		return
	}
	s.mu.Lock()
	it.due, it.NextAt = now.Add(wait), s.n.now().Add(wait).UTC()
	if quiet {
		s.quietUntil = it.due
	}
	s.mu.Unlock()
	s.n.opts.Store.Tried(it.ID, s.name, it.Tries, it.NextAt, it.LastErr)
}

// warnOnce logs a problem when it begins or changes, not at every try.
func (s *sender) warnOnce(err error, verdict Outcome) {
	text := err.Error()
	s.mu.Lock()
	known := s.figures.LastError == text
	s.figures.LastError = text
	s.mu.Unlock()
	if known {
		return
	}
	s.n.opts.Changed()
	if verdict == Unavailable {
		s.n.log.Warn("channel is not available here", "channel", s.name, "err", err)
	} else {
		s.n.log.Warn("notice did not arrive and is tried again", "channel", s.name, "err", err)
	}
}

// end ends a delivery.
func (s *sender) end(ctx context.Context, it *item, outcome Outcome) {
	s.mu.Lock()
	it.outcome = outcome
	if outcome == Delivered {
		it.LastErr = ""
		s.figures.Delivered++
	} else {
		s.figures.Failed++
	}
	s.figures.LastError = it.LastErr
	s.mu.Unlock()
	s.n.opts.Count(s.name, outcome)
	s.n.opts.Changed()
	it.Tries = 0 // from here on it counts how often the record could not be stored
	s.record(ctx, it)
}

// record stores the end of a delivery. If that fails, only the record is tried again: the notice is
// never sent again for that reason. A stop does not prevent the record.
func (s *sender) record(ctx context.Context, it *item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err := s.n.opts.Store.Done(ctx, it.ID, s.name, string(it.outcome))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if it.Tries++; it.Tries == 1 {
			s.n.log.Error("end of a delivery cannot be stored", "channel", s.name, "notice", it.ID, "err", err)
		}
		it.due = time.Now().Add(storePolicy.Delay(it.Tries, 0))
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(other *item) bool { return other == it })
}

// Figures are the numbers of one channel for status and metrics.
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
