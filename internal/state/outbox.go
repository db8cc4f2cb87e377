package state

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"resumed/internal/outbox"
)

// doneFor is how long a finished delivery is stored: during that time the same notice is not delivered
// again.
const doneFor = 7 * 24 * time.Hour

// Delivery is one notice that is still to be delivered by one channel.
type Delivery = outbox.Delivery

// delivery is a row of the outbox: open deliveries, and finished ones until they are pruned, without
// their payload.
type delivery struct {
	Delivery
	doneAt  time.Time
	outcome string
}

func deliveryKey(id, channel string) string { return "delivery\x00" + id + "\x00" + channel }

// StoreOutbox queues deliveries for the outbox and a small value under a name, as one change: after a crash
// either both are on disk or neither. An open delivery gets the new content; a finished one stays
// finished, so a caller may repeat a delivery without knowing whether it exists.
func (s *Store) StoreOutbox(open []Delivery, key string, value []byte) {
	s.mu.Lock()
	for _, d := range open {
		if s.deliveries[deliveryKey(d.ID, d.Channel)].doneAt.IsZero() {
			d.Payload = bytes.Clone(d.Payload)
			s.putDeliveryLocked(delivery{Delivery: d})
		}
	}
	if key != "" {
		s.putValueLocked(key, value)
	}
	s.mu.Unlock()
	s.queuedSome.Send()
}

// Pending returns the open deliveries, oldest first.
func (s *Store) Pending() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []Delivery
	for _, d := range s.deliveries {
		if d.doneAt.IsZero() {
			open = append(open, d.Delivery)
		}
	}
	slices.SortFunc(open, func(a, b Delivery) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Channel, b.Channel))
	})
	return open
}

// Done finishes a delivery, whether it succeeded or never will. From now on it is not pending. A nil
// error means that this is on disk; after an error it will be written as soon as possible.
func (s *Store) Done(ctx context.Context, id, channel, outcome string) error {
	s.mu.Lock()
	d, ok := s.deliveries[deliveryKey(id, channel)]
	if ok && d.doneAt.IsZero() {
		d.doneAt, d.outcome, d.Payload = time.Now(), outcome, nil
		s.putDeliveryLocked(d)
	}
	s.mu.Unlock()
	if err := s.Sync(ctx); err != nil {
		return fmt.Errorf("store end of notice %s: %w", id, err)
	}
	return nil
}

// putDeliveryLocked sets d and queues its whole row, so that it does not matter which of its changes
// reach the disk.
func (s *Store) putDeliveryLocked(d delivery) {
	key := deliveryKey(d.ID, d.Channel)
	s.deliveries[key] = d
	s.queue.put(op{
		key: key,
		stmt: `INSERT OR REPLACE INTO delivery
			(id, channel, payload, created_at, tries, next_at, last_error, done_at, outcome)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		args: given(d.ID, d.Channel, d.Payload, millis(d.At), d.Tries, millis(d.NextAt), d.LastErr, millis(d.doneAt), d.outcome),
	})
}

func (s *Store) loadDeliveries() error {
	s.deliveries = make(map[string]delivery)
	err := each(context.Background(), s.db, func(scan scan) error {
		var d delivery
		var created, next, done int64
		err := scan(&d.ID, &d.Channel, &d.Payload, &created, &d.Tries, &next, &d.LastErr, &done, &d.outcome)
		d.At, d.NextAt, d.doneAt = fromMillis(created), fromMillis(next), fromMillis(done)
		s.deliveries[deliveryKey(d.ID, d.Channel)] = d
		return err
	}, `SELECT id, channel, payload, created_at, tries, next_at, last_error, done_at, outcome FROM delivery`)
	if err != nil {
		return fmt.Errorf("load notices: %w", err)
	}
	return nil
}

func (s *Store) pruneDeliveries(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.deliveries {
		if d.doneAt.IsZero() || !d.doneAt.Before(before) {
			continue
		}
		delete(s.deliveries, key)
		s.queue.put(op{
			key:  key,
			stmt: "DELETE FROM delivery WHERE id = ? AND channel = ?",
			args: given(d.ID, d.Channel),
		})
	}
	s.queuedSome.Send()
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
