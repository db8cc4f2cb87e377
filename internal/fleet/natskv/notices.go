package natskv

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
	"resumed/internal/wake"
)

// Publish stores a notice of the host with that name. The server does not allow other hosts to do that.
func (s *Store) Publish(ctx context.Context, from, id string, notice []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: NoticeSubject + from, Data: notice}, jetstream.WithMsgID(id))
	if err != nil {
		return fmt.Errorf("publish a notice: %w", err)
	}
	return nil
}

// Notices calls tell for the notices that are not acknowledged yet, one at a time.
func (s *Store) Notices(ctx context.Context, tell func(context.Context, fleet.Notice) error) error {
	start, cancel := bounded(ctx)
	defer cancel()
	consumer, err := s.js.Consumer(start, NoticeStream, NoticeConsumer)
	if err != nil {
		return fmt.Errorf("fetch notices: %w", err)
	}
	for ctx.Err() == nil {
		if err := fetch(ctx, consumer, tell); err != nil {
			wake.Sleep(ctx, time.Second)
		}
	}
	return ctx.Err()
}

// fetch waits some seconds for a notice, and acknowledges it if it was reported.
func fetch(ctx context.Context, consumer jetstream.Consumer, tell func(context.Context, fleet.Notice) error) error {
	wait, cancel := bounded(ctx)
	defer cancel()
	found, err := consumer.Fetch(1, jetstream.FetchContext(wait))
	if err != nil {
		return err
	}
	for msg := range found.Messages() {
		n := fleet.Notice{Host: strings.TrimPrefix(msg.Subject(), NoticeSubject), ID: msg.Headers().Get(nats.MsgIdHdr), Data: msg.Data()}
		again := LongestReport
		if about, err := msg.Metadata(); err == nil {
			n.At, again = about.Timestamp, min(LongestReport, retryTell*time.Duration(min(about.NumDelivered, MaxDeliver)))
		}
		err := tell(ctx, n)
		switch {
		case err == nil:
			acknowledge, cancel := bounded(context.WithoutCancel(ctx))
			_ = msg.DoubleAck(acknowledge) // otherwise it is reported again
			cancel()
		case ctx.Err() != nil:
			_ = msg.Nak() // then another host reports it
		default:
			_ = msg.NakWithDelay(again)
		}
	}
	return nil
}

// retryTell is when a notice that could not be reported is delivered again. The delay grows up to
// LongestReport.
const retryTell = 5 * time.Second
