package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
	"resumed/internal/sanitize"
	"resumed/internal/wake"
)

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
	n    *Notifier
	name string
	kick wake.Signal // the outbox or the channel has changed

	// What follows belongs to the sender's goroutine.
	queue       []*item
	quietUntil  time.Time // the server asked for a pause until then
	lived, wall time.Time // both clocks when they were last compared

	// What follows is guarded by n.mu.
	channel *Channel // nil: it is no longer configured
	figures Figures
}

type item struct {
	Delivery
	notice Notice
	due    time.Time // when it is tried next
	until  time.Time // when it is dropped
}

func newSender(n *Notifier, ch *Channel) *sender {
	return &sender{n: n, name: ch.Name, kick: wake.NewSignal(), lived: time.Now(), wall: n.now(), channel: ch, figures: Figures{Name: ch.Name}}
}

// pull takes new deliveries out of the outbox. Their times come from a clock that may have been set
// since: no notice is from the future, and none has to wait for longer than maxSilence.
func (s *sender) pull(ctx context.Context) {
	s.n.mu.Lock()
	fresh := s.n.ready(func(d Delivery) bool {
		return d.Channel == s.name && !slices.ContainsFunc(s.queue, func(it *item) bool { return it.ID == d.ID })
	})
	s.n.mu.Unlock()
	slices.SortStableFunc(fresh, func(a, b Delivery) int { return completeAt(a).Compare(completeAt(b)) })
	now, wall := time.Now(), s.n.now()
	for _, d := range fresh {
		age := max(wall.Sub(d.At), 0)
		it := &item{Delivery: d, due: now, until: now.Add(max(keepTrying-age, secondChance))}
		if wait := d.NextAt.Sub(wall); d.Tries > 0 && wait > 0 && wait <= maxSilence {
			it.due = now.Add(wait)
		}
		if err := json.Unmarshal(d.Payload, &it.notice); err != nil {
			s.n.log.Error("notice is unreadable and lost", "channel", s.name, "notice", d.ID, "err", err)
			it.LastErr = "notice is unreadable"
			s.end(ctx, it, Failed)
			continue
		}
		s.queue = append(s.queue, it)
	}
	if len(fresh) > 0 {
		s.n.opts.Changed()
	}
}

// completeAt returns when a notice was complete, as far as it is known: notices are sent in that order.
func completeAt(d Delivery) time.Time {
	if d.Tries > 0 {
		return d.At
	}
	return d.NextAt
}

// run sends with the channel, and with those that replace it, until it is removed.
func (s *sender) run(ctx context.Context) {
	for ch := s.current(); ch != nil && ctx.Err() == nil; ch = s.current() {
		s.serve(ctx, ch)
	}
	s.n.nudge.Send() // the deliveries of a channel that was removed are dropped
}

// current returns the channel. If it was removed, so is the sender.
func (s *sender) current() *Channel {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.channel == nil {
		delete(s.n.senders, s.name)
	}
	return s.channel
}

// serve sends with a channel, and receives orders from it, until the channel is replaced.
func (s *sender) serve(ctx context.Context, ch *Channel) {
	listening, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	if l, ok := ch.sender.(Listener); ok {
		ended.Go(func() { l.Listen(listening, s.n.log.With("channel", s.name)) })
	}
	defer func() {
		stop()
		ended.Wait()
		if err := ch.Close(); err != nil {
			s.n.log.Debug("channel did not close well", "channel", s.name, "err", err)
		}
	}()
	for s.pull(ctx); ctx.Err() == nil && s.current() == ch; {
		s.catchUp()
		it, wait := s.next(time.Now())
		if wait <= 0 {
			s.judge(ctx, it, send(ctx, ch, it.notice))
			wait = 0
		}
		select {
		case <-ctx.Done():
		case <-s.kick:
			s.pull(ctx)
		case <-time.After(wait):
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
	s.quietUntil = s.quietUntil.Add(-slept)
	for _, it := range s.queue {
		it.due = it.due.Add(-slept)
	}
}

func (s *sender) next(now time.Time) (first *item, wait time.Duration) {
	for _, it := range s.queue {
		if (first == nil || it.due.Before(first.due)) && !s.mustWait(it) {
			first = it
		}
	}
	if first == nil {
		return nil, longestSleep
	}
	return first, min(max(first.due.Sub(now), s.quietUntil.Sub(now)), longestSleep)
}

// mustWait keeps a notice about a recovery from overtaking earlier notices of its account.
func (s *sender) mustWait(it *item) bool {
	if it.notice.Event != Recovered {
		return false
	}
	before := s.queue[:slices.Index(s.queue, it)]
	return slices.ContainsFunc(before, func(other *item) bool { return other.notice.Account == it.notice.Account })
}

// send makes one try. It may continue for stopGrace after ctx is done.
func send(ctx context.Context, ch *Channel, notice Notice) error {
	tryCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cancel) })()
	return ch.Send(tryCtx, notice).Err
}

func (s *sender) judge(ctx context.Context, it *item, err error) {
	if err != nil && ctx.Err() != nil {
		return // cut off because we stop: it does not count as a try
	}
	it.Tries++
	log := s.n.log.With("channel", s.name, "notice", it.ID, "event", it.notice.Event)
	if err == nil {
		log.Debug("notice delivered", "tries", it.Tries)
		it.LastErr = ""
		s.end(ctx, it, Delivered)
		return
	}
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
	if s.fails(err) {
		if verdict == Unavailable {
			s.n.log.Warn("channel is not available here", "channel", s.name, "err", err)
		} else {
			s.n.log.Warn("notice did not arrive and is tried again", "channel", s.name, "err", err)
		}
		s.n.opts.Changed()
	}
	now := time.Now()
	if now.Add(wait).After(it.until) {
		if verdict == Dropped {
			log.Error("notice dropped: it could not be delivered for a day", "tries", it.Tries, "err", err)
		}
		s.end(ctx, it, verdict)
		return
	}
	it.due, it.NextAt = now.Add(wait), s.n.now().Add(wait).UTC()
	if quiet {
		s.quietUntil = it.due
	}
	s.n.opts.Store.StoreOutbox([]Delivery{it.Delivery}, "", nil)
}

// fails stores a problem, and reports whether it is another one than that of the last try.
func (s *sender) fails(err error) bool {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	before := s.figures.LastError
	s.figures.LastError = err.Error()
	return before != err.Error()
}

func (s *sender) end(ctx context.Context, it *item, outcome Outcome) {
	s.n.mu.Lock()
	if outcome == Delivered {
		s.figures.Delivered++
	} else {
		s.figures.Failed++
	}
	s.figures.LastError = it.LastErr
	s.n.mu.Unlock()
	s.n.end(ctx, it.ID, s.name, outcome)
	s.queue = slices.DeleteFunc(s.queue, func(other *item) bool { return other == it })
	s.n.opts.Changed()
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
	defer n.mu.Unlock()
	all := make([]Figures, 0, len(n.senders))
	for name, s := range n.senders {
		f := s.figures
		f.Pending = len(n.ready(func(d Delivery) bool { return d.Channel == name }))
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Figures) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Pending returns how many deliveries have not ended.
func (n *Notifier) Pending() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.ready(func(Delivery) bool { return true }))
}

// TellStateLost reports that the state is lost, without the outbox, which is lost too. It returns when
// every channel has accepted or refused the notice, or ctx is done.
func (n *Notifier) TellStateLost(ctx context.Context, why string) {
	n.mu.Lock()
	config := n.config
	n.mu.Unlock()
	lost := newGroup(StateError, n.now())
	lost.detail = why
	notice := n.compose(lost)
	policy := retryPolicy
	policy.MaxRetries = math.MaxInt
	options := backoff.Options{Rand: n.opts.Rand, Retryable: func(err error) bool { return !IsFinal(err) }}
	var all sync.WaitGroup
	defer all.Wait()
	for _, ch := range config.Channels {
		send := func(ctx context.Context) error {
			err := ch.Send(ctx, notice).Err
			if err != nil {
				n.log.Warn("notice did not arrive", "channel", ch.Name, "event", notice.Event, "err", err)
			}
			return err
		}
		if slices.Contains(config.wanting(StateError), ch.Name) {
			all.Go(func() { _ = backoff.Retry(ctx, policy, send, options) })
		}
	}
}
