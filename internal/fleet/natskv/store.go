// Package natskv stores the shared data of a fleet in NATS JetStream.
package natskv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
)

// Store is a fleet.Store. Its methods are safe for use by several goroutines.
type Store struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	host string // the name of this host
}

var _ fleet.Store = (*Store)(nil)

// bounded adds the timeout for an answer of the server.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, fleet.AnswerWithin, errors.New("the fleet's server does not answer"))
}

// subject returns the subject to which this host writes a key.
func (s *Store) subject(bucket fleet.Bucket, key string) string {
	if isShared(bucket, key) {
		key += "." + s.host
	}
	return SubjectOf(bucket, key)
}

// Update writes a key that has that revision; 0: that does not exist.
func (s *Store) Update(ctx context.Context, bucket fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	next, err := s.update(ctx, bucket, key, value, rev, lasts)
	if rev == 0 && errors.Is(err, fleet.ErrConflict) {
		if last, missing := s.last(ctx, bucket, key); missing == nil && last.Gone {
			return s.update(ctx, bucket, key, value, last.Rev, lasts) // over the marker of the deletion
		}
	}
	return next, err
}

func (s *Store) update(ctx context.Context, bucket fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	msg := nats.NewMsg(s.subject(bucket, key))
	msg.Data = value
	if lasts != 0 {
		const shortest = time.Second // the server does not support shorter ones
		msg.Header.Set(jetstream.MsgTTLHeader, max(lasts, shortest).Truncate(time.Second).String())
	}
	expected := jetstream.WithExpectLastSequencePerSubject(rev)
	if isShared(bucket, key) {
		expected = jetstream.WithExpectLastSequenceForSubject(rev, SubjectOf(bucket, key+".*"))
	}
	return s.write(ctx, msg, expected)
}

// Delete removes a key, or this host's record of it, if it has that revision.
func (s *Store) Delete(ctx context.Context, bucket fleet.Bucket, key string, rev uint64) error {
	_, err := s.write(ctx, s.deletion(bucket, key), jetstream.WithExpectLastSequencePerSubject(rev))
	return err
}

func (s *Store) deletion(bucket fleet.Bucket, key string) *nats.Msg {
	msg := nats.NewMsg(s.subject(bucket, key))
	msg.Header.Set(operationHeader, "DEL")
	msg.Header.Set(jetstream.MsgTTLHeader, MarkerTTL.String())
	return msg
}

// Put writes a key that only this host writes, whatever its revision is.
func (s *Store) Put(ctx context.Context, bucket fleet.Bucket, key string, value []byte) error {
	_, err := s.write(ctx, &nats.Msg{Subject: s.subject(bucket, key), Data: value})
	return err
}

// Remove removes a key that only this host writes, whatever its revision is.
func (s *Store) Remove(ctx context.Context, bucket fleet.Bucket, key string) error {
	_, err := s.write(ctx, s.deletion(bucket, key))
	return err
}

// write stores a message if the expected revision has not changed.
func (s *Store) write(ctx context.Context, msg *nats.Msg, expected ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, msg, expected...)
	refused, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || refused.ErrorCode == 10164):
		return 0, fleet.ErrConflict
	case err != nil:
		return 0, fmt.Errorf("write %s: %w", msg.Subject, err)
	}
	return ack.Sequence, nil
}

// Now returns the time of the server that decides about the leases.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	asked := time.Now()
	stream, err := s.js.Stream(ctx, StreamOf(fleet.Leases))
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the time: %w", err)
	}
	return stream.CachedInfo().TimeStamp.Add(time.Since(asked) / 2), nil
}
