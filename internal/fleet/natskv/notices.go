package natskv

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
)

// Publish hands in a notice once, as the host of that name. The server lets no other host do so.
func (s *Store) Publish(ctx context.Context, from, id string, notice []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: noticeSubject + from, Data: notice}, jetstream.WithMsgID(id))
	if err != nil {
		return fmt.Errorf("hand in a notice: %w", err)
	}
	return nil
}

// Notices yields the notices that are not acknowledged yet, one at a time.
func (s *Store) Notices(ctx context.Context) (<-chan fleet.Notice, error) {
	start, cancel := bounded(ctx)
	defer cancel()
	consumer, err := s.js.Consumer(start, noticeStream, notifier)
	if err != nil {
		return nil, fmt.Errorf("listen to notices: %w", err)
	}
	out := make(chan fleet.Notice)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			hand(ctx, consumer, out)
		}
	}()
	return out, nil
}

// hand fetches one notice and waits until somebody is done with it. One that is not taken is
// given back at once.
func hand(ctx context.Context, consumer jetstream.Consumer, out chan<- fleet.Notice) {
	const look = 5 * time.Second
	found, err := consumer.Fetch(1, jetstream.FetchContext(within(ctx, look)))
	if err != nil {
		pause(ctx, time.Second)
		return
	}
	for msg := range found.Messages() {
		done := make(chan struct{})
		select {
		case out <- noticeOf(msg, done):
		case <-ctx.Done():
			_ = msg.Nak()
			return
		}
		select {
		case <-done:
		case <-time.After(patience): // it comes again
		case <-ctx.Done():
			_ = msg.Nak()
			return
		}
	}
}

// leaveFor is when a notice that was left is told again; longer each time, up to patience.
const leaveFor = 5 * time.Second

// noticeOf returns a notice that closes done when somebody is done with it, or leaves it for later.
func noticeOf(msg jetstream.Msg, done chan<- struct{}) fleet.Notice {
	var once sync.Once
	end := func(how func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := bounded(ctx)
			defer cancel()
			err := how(ctx)
			if err == nil {
				once.Do(func() { close(done) })
			}
			return err
		}
	}
	later := patience
	n := fleet.Notice{Host: strings.TrimPrefix(msg.Subject(), noticeSubject), ID: msg.Headers().Get(nats.MsgIdHdr), Data: msg.Data(), Done: end(msg.DoubleAck)}
	if about, err := msg.Metadata(); err == nil {
		n.At, later = about.Timestamp, leaveFor*time.Duration(min(about.NumDelivered, uint64(patience/leaveFor)))
	}
	n.Leave = end(func(context.Context) error { return msg.NakWithDelay(later) })
	return n
}

// within returns a context that ends after d at the latest. Its timer is let go then.
func within(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
