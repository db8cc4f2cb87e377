package notify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"resumed/internal/backoff"
)

// Result is the result of a notice that one channel sent without the outbox.
type Result struct {
	Channel string        // its name
	To      string        // its destination, without secrets
	Sent    string        // the title that was sent
	Answer  string        // the answer; empty if the channel has none
	Took    time.Duration // until the answer
	Err     error         // nil: it was accepted
}

// Try sends a test notice with all channels at once, or with the one of that name, without the outbox,
// and waits for the answers. It is an error if there is no channel of that name.
func Try(ctx context.Context, channels []Channel, name, host string) ([]Result, error) {
	chosen := slices.DeleteFunc(slices.Clone(channels), func(ch Channel) bool { return name != "" && ch.Name() != name })
	if name != "" && len(chosen) == 0 {
		return nil, fmt.Errorf("no channel is named %q", name)
	}
	notice := compose(newGroup(Test, time.Now()), host, nil)
	results := make([]Result, len(chosen))
	var all sync.WaitGroup
	for i, ch := range chosen {
		all.Go(func() { results[i] = try(ctx, ch, notice) })
	}
	all.Wait()
	return results, nil
}

// try tries once to send a notice.
func try(ctx context.Context, ch Channel, notice Notice) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, sendLimit, fmt.Errorf("not done within %s", sendLimit))
	defer cancel()
	notice = ch.Word(notice)
	began := time.Now()
	answer, err := ch.Send(ctx, notice)
	return Result{Channel: ch.Name(), To: ch.To(), Sent: notice.Title, Answer: answer, Took: time.Since(began), Err: err}
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
			err := try(ctx, ch, notice).Err
			if err != nil {
				n.log.Warn("notice did not arrive", "channel", ch.Name(), "event", notice.Event, "err", err)
			}
			return err
		}
		if slices.Contains(config.wanting(StateError), ch.Name()) {
			all.Go(func() { _ = backoff.Retry(ctx, policy, send, options) })
		}
	}
}
