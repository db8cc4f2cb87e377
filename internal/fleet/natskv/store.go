// Package natskv stores the shared data of a fleet in NATS JetStream.
package natskv

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func newStore(nc *nats.Conn, host string) *Store {
	js, _ := jetstream.New(nc) // without options, it does not fail
	return &Store{nc, js, host}
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, fleet.AnswerWithin, errors.New("the fleet's server does not answer"))
}

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

// The names of the streams and subjects of a fleet, which the hub creates and its hosts use.
const (
	NoticeStream   = "RESUMED_NOTICES"
	NoticeSubject  = "resumed.v1.notice." // followed by the host that publishes it, and its id
	NoticesStored  = "resumed.v1.stored." // on which the server publishes the notices that it has stored
	NoticeConsumer = "notifier"
	JoinSubject    = "resumed.v1.join." // followed by the key of the join line
)

// Orders is the bucket of orders to other hosts and of their answers, stored for a minute. A key begins
// with the name of the host that writes it, and a host may not write other keys: that proves the
// sender.
const Orders fleet.Bucket = "resumed_orders"

func askKey(from, to, id string) string    { return from + "." + to + "." + id + ".ask" }
func answerKey(from, to, id string) string { return from + "." + to + "." + id + ".answer" }

// Changes are the subjects on which the server publishes every change of a bucket. Consumers are no
// alternative: JetStream refuses the 1,001st one of a bucket.
var Changes = map[fleet.Bucket]string{
	fleet.Accounts: "resumed.v1.acct.",
	fleet.Leases:   "resumed.v1.lease.",
	fleet.View:     "resumed.v1.view.",
	Orders:         "resumed.v1.order.",
}

const (
	// MarkerTTL is how long the marker of a deleted key is stored.
	MarkerTTL = time.Minute

	// LongestReport is how long the holder of the notifier's lease may take to report a notice.
	LongestReport = time.Minute

	// MaxDeliver is how often a notice is given to hosts that do not answer.
	MaxDeliver = 100
)

// StreamOf returns the stream of a bucket.
func StreamOf(b fleet.Bucket) string { return "KV_" + string(b) }

// SubjectOf returns the subject of a key.
func SubjectOf(b fleet.Bucket, key string) string { return "$KV." + string(b) + "." + key }

// Inbox is the subject of answers to a host. Other hosts may not subscribe to it.
func Inbox(host string) string { return "_INBOX_" + host }

// Applicant is the name of a host that is not admitted yet. No real host can have that name.
const Applicant = "-guest"

// A key that any host may write has a record for each host, KEY.HOST, and a host may only write its own
// records: so no host can delete what another one holds, and the hub can tell how much each of them
// stores. The newest record counts, and a write names the newest revision of all of them.

func isShared(bucket fleet.Bucket, key string) bool {
	return bucket == fleet.Accounts || bucket == fleet.Leases && !strings.HasPrefix(key, fleet.HostKey(""))
}

// recordOf splits the key of a record into the shared key and the host that wrote it.
func recordOf(bucket fleet.Bucket, record string) (key, by string) {
	at := strings.LastIndex(record, ".")
	if !isShared(bucket, record) || at < 0 {
		return record, ""
	}
	return record[:at], record[at+1:]
}

// SenderOf returns the host that sends a message, by its subject; "": it is not known.
func SenderOf(subject string) string {
	for b, changes := range Changes {
		if key, ok := strings.CutPrefix(subject, SubjectOf(b, "")); ok {
			return WriterOf(changes + key)
		}
	}
	if notice, ok := strings.CutPrefix(subject, NoticeSubject); ok {
		return WriterOf(NoticesStored + notice)
	}
	return ""
}

// WriterOf returns the host that made a change, by its subject; "": it is not known.
func WriterOf(subject string) string {
	if notice, ok := strings.CutPrefix(subject, NoticesStored); ok {
		host, _, _ := strings.Cut(notice, ".")
		return host
	}
	if host, ok := strings.CutPrefix(subject, Changes[fleet.Leases]+fleet.HostKey("")); ok {
		return host
	}
	for b, prefix := range Changes {
		if key, ok := strings.CutPrefix(subject, prefix); ok && b == fleet.View {
			host, _, _ := strings.Cut(key, ".")
			return host
		} else if ok {
			_, by := recordOf(b, key)
			return by
		}
	}
	return ""
}
