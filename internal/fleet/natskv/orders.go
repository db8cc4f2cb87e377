package natskv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"resumed/internal/fleet"
)

// ErrNobody means that no host of that name is there.
var ErrNobody = errors.New("no host of that name is there")

// Bounds of the orders that wait. More are dropped, and the hosts that asked get no answer.
const (
	waitingOrders     = 64
	waitingOrderBytes = 256 << 10
)

// listen subscribes to the orders or answers with that key.
func (s *Store) listen(key string) (*nats.Subscription, error) {
	sub, err := s.nc.SubscribeSync(Changes[Orders] + key)
	if err == nil {
		err = sub.SetPendingLimits(waitingOrders, waitingOrderBytes)
	}
	return sub, err
}

// Order sends an order to another host, and returns its answer. The server allows a host to send orders
// only in its own name.
func (s *Store) Order(ctx context.Context, host string, order []byte) ([]byte, error) {
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
