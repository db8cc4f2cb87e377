package natskv

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
	"resumed/internal/wake"
)

// ErrNobody means that no host of that name is there.
var ErrNobody = errors.New("no host of that name is there (resumed status --fleet lists them)")

// Bounds of the orders that wait. More are dropped, and the hosts that asked get no answer.
const (
	waitingOrders     = 64
	waitingOrderBytes = 256 << 10
)

func (s *Store) listen(key string) (*nats.Subscription, error) {
	sub, err := s.nc.SubscribeSync(Changes[Orders] + key)
	if err == nil {
		err = sub.SetPendingLimits(waitingOrders, waitingOrderBytes)
	}
	return sub, err
}

// SendOrder sends an order to another host, and returns its answer. The server allows a host to send orders
// only in its own name.
func (s *Store) SendOrder(ctx context.Context, host string, order []byte) ([]byte, error) {
	nobody := fmt.Errorf("host %s: %w", host, ErrNobody)
	if strings.ContainsAny(host, ".*> \t\r\n") {
		return nil, nobody
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.Get(ctx, fleet.Leases, fleet.HostKey(host))
	if errors.Is(err, fleet.ErrMissing) {
		return nil, nobody
	}
	id := rand.Text()
	answers, err2 := s.listen(answerKey(host, s.host, id))
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("ask %s: %w", host, err)
	}
	defer func() { _ = answers.Unsubscribe() }()
	if _, err := s.js.Publish(ctx, SubjectOf(Orders, askKey(s.host, host, id)), order); err != nil {
		return nil, fmt.Errorf("ask %s: %w", host, err)
	}
	msg, err := answers.NextMsgWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s does not answer: %w", host, err)
	}
	return msg.Data, nil
}

// Orders answers the orders of other hosts, one after the other, until ctx is done.
func (s *Store) Orders(ctx context.Context, answer func(ctx context.Context, from string, order []byte) []byte) error {
	asked, err := s.listen(askKey("*", s.host, "*"))
	if err != nil {
		return fmt.Errorf("listen to orders: %w", err)
	}
	defer func() { _ = asked.Unsubscribe() }()
	for {
		msg, err := asked.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrSlowConsumer) {
			continue
		}
		if err != nil {
			return err
		}
		key := strings.Split(strings.TrimPrefix(msg.Subject, Changes[Orders]), ".") // of askKey
		from, id := key[0], key[2]
		_, _ = s.js.Publish(ctx, SubjectOf(Orders, answerKey(s.host, from, id)), answer(ctx, from, msg.Data)) // without an answer, the order counts as refused
	}
}

// Publish stores a notice of the host with that name, unless there is one with that id, and returns the one
// that is stored. The server does not allow other hosts to do that.
func (s *Store) Publish(ctx context.Context, from, id string, notice []byte) (fleet.Notice, error) {
	sum := sha256.Sum256([]byte(id))
	name := hex.EncodeToString(sum[:16]) // ids of messages would be of no use: the server stores any number of them
	same := NoticeSubject + "*." + name
	_, err := s.write(ctx, &nats.Msg{Subject: NoticeSubject + from + "." + name, Data: notice}, jetstream.WithExpectLastSequenceForSubject(0, same))
	if err == nil {
		return fleet.Notice{Host: from, ID: name, Data: notice}, nil
	}
	if errors.Is(err, fleet.ErrConflict) {
		var first *nats.Msg
		if first, err = s.newest(ctx, NoticeStream, same); err == nil {
			return noticeOf(serverHeader(first, nats.JSSubject), first.Data), nil
		}
	}
	return fleet.Notice{}, fmt.Errorf("publish a notice: %w", err)
}

func noticeOf(subject string, data []byte) fleet.Notice {
	host, id, _ := strings.Cut(strings.TrimPrefix(subject, NoticeSubject), ".")
	return fleet.Notice{Host: host, ID: id, Data: data}
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
		n, again := noticeOf(msg.Subject(), msg.Data()), LongestReport
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
