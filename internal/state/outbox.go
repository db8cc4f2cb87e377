package state

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// doneFor is how long a delivery that is over is remembered: for that long the
// same notice is not delivered again.
const doneFor = 7 * 24 * time.Hour

// Delivery is one notice that is still to be delivered by one channel.
type Delivery struct {
	ID        string // of the notice
	Channel   string
	Payload   []byte
	CreatedAt time.Time
	Tries     int
	NextAt    time.Time // zero: now
	LastErr   string    // of the last try; empty before the first
}

type deliveryKey struct{ id, channel string }

// delivery is a row of the outbox: the open ones, and those that are over and
// not yet pruned, without their payload.
type delivery struct {
	Delivery
	doneAt  time.Time
	outcome string
}

func (d delivery) key() deliveryKey { return deliveryKey{d.ID, d.Channel} }

// AddNotice puts a notice into the outbox, to be delivered by each of the
// channels. On a nil error it is on disk, and so is all that was queued before
// it. On an error it is pending all the same, and written as soon as the disk
// allows. A notice that was added before is not added again, whatever became of
// it, so a caller that cannot know may add it twice.
func (s *Store) AddNotice(ctx context.Context, id string, channels []string, payload []byte, at time.Time) error {
	s.mu.Lock()
	for _, channel := range channels {
		d := delivery{Delivery: Delivery{ID: id, Channel: channel, Payload: bytes.Clone(payload), CreatedAt: at}}
		if _, known := s.deliveries[d.key()]; !known {
			s.putDeliveryLocked(d)
		}
	}
	s.mu.Unlock()
	if err := s.Sync(ctx); err != nil {
		return fmt.Errorf("store notice %s: %w", id, err)
	}
	return nil
}

// Pending returns what is still to be delivered, oldest first.
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
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Channel, b.Channel))
	})
	return open
}

// Tried queues that a delivery was tried and is to be tried again at nextAt.
func (s *Store) Tried(id, channel string, tries int, nextAt time.Time, lastErr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.deliveries[deliveryKey{id, channel}]
	if !ok || !d.doneAt.IsZero() {
		return
	}
	d.Tries, d.NextAt, d.LastErr = tries, nextAt, lastErr
	s.putDeliveryLocked(d)
	s.wake()
}

// Done takes a delivery out of the outbox, whether it arrived or never will.
// From now on it is not pending. On a nil error that is on disk too; on an
// error it will be as soon as the disk allows.
func (s *Store) Done(ctx context.Context, id, channel, outcome string) error {
	s.mu.Lock()
	d, ok := s.deliveries[deliveryKey{id, channel}]
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

// putDeliveryLocked remembers d and queues all of its row, so that nothing
// depends on which of its changes reach the disk.
func (s *Store) putDeliveryLocked(d delivery) {
	s.deliveries[d.key()] = d
	s.queue.put(op{
		key: "delivery\x00" + d.ID + "\x00" + d.Channel,
		stmt: `INSERT OR REPLACE INTO delivery
			(id, channel, payload, created_at, tries, next_at, last_error, done_at, outcome)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		args: given(d.ID, d.Channel, d.Payload, millis(d.CreatedAt), d.Tries, millis(d.NextAt), d.LastErr, millis(d.doneAt), d.outcome),
	})
}

func (s *Store) loadDeliveries() error {
	s.deliveries = make(map[deliveryKey]delivery)
	rows, err := s.db.Query(`SELECT id, channel, payload, created_at, tries, next_at, last_error, done_at, outcome FROM delivery`)
	if err != nil {
		return fmt.Errorf("load notices: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var d delivery
		var created, next, done int64
		err := rows.Scan(&d.ID, &d.Channel, &d.Payload, &created, &d.Tries, &next, &d.LastErr, &done, &d.outcome)
		if err != nil {
			return fmt.Errorf("load notices: %w", err)
		}
		d.CreatedAt, d.NextAt, d.doneAt = fromMillis(created), fromMillis(next), fromMillis(done)
		s.deliveries[d.key()] = d
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("load notices: %w", err)
	}
	return nil
}

// pruneDeliveries forgets deliveries that were over before the given time.
func (s *Store) pruneDeliveries(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.deliveries {
		if d.doneAt.IsZero() || !d.doneAt.Before(before) {
			continue
		}
		delete(s.deliveries, key)
		s.queue.put(op{
			key:  "delivery\x00" + d.ID + "\x00" + d.Channel,
			stmt: "DELETE FROM delivery WHERE id = ? AND channel = ?",
			args: given(d.ID, d.Channel),
		})
	}
	s.wake()
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
