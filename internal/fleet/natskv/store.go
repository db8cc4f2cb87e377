// Package natskv keeps what the hosts of a fleet have together in NATS JetStream.
package natskv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// answerLimit is how long a server may take to answer where the caller does not say.
const answerLimit = 5 * time.Second

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, answerLimit, errors.New("the fleet's server does not answer"))
}

// What a header is called in which JetStream tells of a message.
const (
	operationHeader = "KV-Operation" // as other clients of a bucket write it
	markerHeader    = "Nats-Marker-Reason"
)

// Get returns what lies under a key.
func (s *Store) Get(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	e, err := s.last(ctx, bucket, key)
	if err == nil && e.Gone {
		err = fleet.ErrMissing
	}
	return e, err
}

// last is Get which also returns what is left of a key that is gone.
func (s *Store) last(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	msg, err := s.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+streamOf(bucket)+"."+subjectOf(bucket, key), nil)
	if err != nil {
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	switch status := msg.Header.Get("Status"); status {
	case "":
		return entryOf(bucket, msg)
	case "404":
		return fleet.Entry{}, fleet.ErrMissing
	default:
		return fleet.Entry{}, fmt.Errorf("get %s: the server answers %s %s", key, status, msg.Header.Get("Description"))
	}
}

// entryOf reads a message that the server sent by itself, or was asked for.
func entryOf(bucket fleet.Bucket, msg *nats.Msg) (fleet.Entry, error) {
	h := msg.Header
	rev, err := strconv.ParseUint(h.Get(nats.JSSequence), 10, 64)
	at, err2 := time.Parse(time.RFC3339Nano, h.Get(nats.JSTimeStamp))
	key, ours := strings.CutPrefix(h.Get(nats.JSSubject), subjectOf(bucket, ""))
	if err := errors.Join(err, err2); err != nil || !ours {
		return fleet.Entry{}, fmt.Errorf("read what the server sent of %q: %w", h.Get(nats.JSSubject), errors.Join(err, errors.New("no entry of this bucket")))
	}
	e := fleet.Entry{Key: key, Rev: rev, At: at, Gone: h.Get(operationHeader) != "" || h.Get(markerHeader) != ""}
	if !e.Gone {
		e.Value = msg.Data
	}
	return e, nil
}

// batch is how many keys are asked for at a time.
const batch = 1000

// List returns what lies under all keys that begin so.
func (s *Store) List(ctx context.Context, bucket fleet.Bucket, prefix string) ([]fleet.Entry, error) {
	all, err := s.scan(ctx, bucket, above(prefix), 1, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return slices.DeleteFunc(all, func(e fleet.Entry) bool { return !strings.HasPrefix(e.Key, prefix) }), nil
}

// Page returns at most so many keys of a bucket, those that were written after that revision
// and are oldest, and whether there are more. However many there are, no more are read.
func (s *Store) Page(ctx context.Context, bucket fleet.Bucket, after uint64, most int) (page []fleet.Entry, more bool, err error) {
	page, err = s.scan(ctx, bucket, ">", after+1, most+1)
	if err != nil {
		return nil, false, fmt.Errorf("read a page of %s: %w", bucket, err)
	}
	if len(page) > most {
		return page[:most], true, nil
	}
	return page, false, nil
}

// scan reads at most so many keys that fit a pattern, in the order of their revisions.
func (s *Store) scan(ctx context.Context, bucket fleet.Bucket, pattern string, from uint64, most int) ([]fleet.Entry, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	replies := s.nc.NewInbox()
	in := make(chan *nats.Msg, batch+1) // a subscription of the client's own making has room for 65,536
	sub, err := s.nc.ChanSubscribe(replies, in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	var all []fleet.Entry
	for more := true; more && len(all) < most; {
		n := min(batch, most-len(all))
		request := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d}`, from, subjectOf(bucket, pattern), n)
		if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+streamOf(bucket), replies, []byte(request)); err != nil {
			return nil, err
		}
		page, err := collect(ctx, bucket, in)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			from = e.Rev + 1
			if !e.Gone {
				all = append(all, e)
			}
		}
		more = len(page) == n
	}
	return all, nil
}

// above returns the pattern of the keys among which those are that begin so.
func above(prefix string) string { return prefix[:strings.LastIndex(prefix, ".")+1] + ">" }

// collect takes the answers to one request.
func collect(ctx context.Context, bucket fleet.Bucket, in <-chan *nats.Msg) ([]fleet.Entry, error) {
	var page []fleet.Entry
	for {
		var msg *nats.Msg
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case msg = <-in:
		}
		switch status := msg.Header.Get("Status"); status {
		case "":
			e, err := entryOf(bucket, msg)
			if err != nil {
				return nil, err
			}
			page = append(page, e)
		case "204", "404": // that was all
			return page, nil
		default:
			return nil, fmt.Errorf("the server answers %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// Create writes a key that is not there.
func (s *Store) Create(ctx context.Context, bucket fleet.Bucket, key string, value []byte, lasts time.Duration) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	rev, err := s.write(ctx, bucket, key, value, 0, lasts)
	if !errors.Is(err, fleet.ErrConflict) {
		return rev, err
	}
	if left, err := s.last(ctx, bucket, key); err == nil && left.Gone {
		return s.write(ctx, bucket, key, value, left.Rev, lasts) // a mark stands where it was
	}
	return 0, err
}

// Update writes a key that stands at that revision.
func (s *Store) Update(ctx context.Context, bucket fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	return s.write(ctx, bucket, key, value, rev, lasts)
}

// Delete removes a key that stands at that revision.
func (s *Store) Delete(ctx context.Context, bucket fleet.Bucket, key string, rev uint64) error {
	msg := nats.NewMsg(subjectOf(bucket, key))
	msg.Header.Set(operationHeader, "DEL")
	msg.Header.Set(jetstream.MsgTTLHeader, markerTTL.String())
	_, err := s.publish(ctx, msg, rev)
	return err
}

func (s *Store) write(ctx context.Context, bucket fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	msg := nats.NewMsg(subjectOf(bucket, key))
	msg.Data = value
	if lasts != 0 {
		const shortest = time.Second // the server counts no smaller ones
		msg.Header.Set(jetstream.MsgTTLHeader, max(lasts, shortest).Truncate(time.Second).String())
	}
	return s.publish(ctx, msg, rev)
}

// publish writes what is to stand where that revision does.
func (s *Store) publish(ctx context.Context, msg *nats.Msg, rev uint64) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(rev))
	refused, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || refused.ErrorCode == 10164):
		return 0, fleet.ErrConflict
	case err != nil:
		return 0, fmt.Errorf("write %s: %w", msg.Subject, err)
	}
	return ack.Sequence, nil
}

// pending is how many changes may wait for whoever looks; more are missed.
const pending = 512

// Watch tells of changes of keys that begin so.
func (s *Store) Watch(ctx context.Context, bucket fleet.Bucket, prefix string) (<-chan fleet.Entry, error) {
	in := make(chan *nats.Msg, pending)
	sub, err := s.nc.ChanSubscribe(told[bucket]+above(prefix), in)
	if err == nil {
		err = s.settled(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", prefix, err)
	}
	out := make(chan fleet.Entry)
	go func() {
		defer close(out)
		defer func() { _ = sub.Unsubscribe() }()
		for {
			var msg *nats.Msg
			select {
			case <-ctx.Done():
				return
			case msg = <-in:
			}
			e, err := entryOf(bucket, msg)
			if err != nil || !strings.HasPrefix(e.Key, prefix) {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case out <- e:
			}
		}
	}()
	return out, nil
}

// settled waits until the server knows of a subscription, where there is a server: one that
// comes later is told by the connection itself.
func (s *Store) settled(ctx context.Context) error {
	if !s.nc.IsConnected() {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := s.nc.FlushWithContext(ctx)
	if !s.nc.IsConnected() {
		return nil // lost meanwhile
	}
	return err
}

// Publish hands in a notice once.
func (s *Store) Publish(ctx context.Context, id string, notice []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: noticeSubject, Data: notice}, jetstream.WithMsgID(id))
	if err != nil {
		return fmt.Errorf("hand in a notice: %w", err)
	}
	return nil
}

// Notices yields the notices that nobody is done with. One is told at a time.
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

// hand fetches one notice and waits until somebody is done with it. One that is left is
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
		var once sync.Once
		n := fleet.Notice{ID: msg.Headers().Get(nats.MsgIdHdr), Data: msg.Data(), Done: func(ctx context.Context) error {
			ctx, cancel := bounded(ctx)
			defer cancel()
			err := msg.DoubleAck(ctx)
			if err == nil {
				once.Do(func() { close(done) })
			}
			return err
		}}
		select {
		case out <- n:
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

// Now asks the server that leads the leases what time it is.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	asked := time.Now()
	msg, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+streamOf(fleet.Leases), nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the time: %w", err)
	}
	took := time.Since(asked)
	var says struct { // of all that it tells of the stream
		At    time.Time           `json:"ts"`
		Error *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(msg.Data, &says); {
	case err != nil:
		return time.Time{}, fmt.Errorf("ask for the time: %w", err)
	case says.Error != nil && says.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return time.Time{}, fmt.Errorf("ask for the time: %w", jetstream.ErrStreamNotFound)
	case says.Error != nil:
		return time.Time{}, fmt.Errorf("ask for the time: %w", says.Error)
	}
	return says.At.Add(took / 2), nil
}
