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

// bounded gives the server its time for an answer.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, fleet.AnswerWithin, errors.New("the fleet's server does not answer"))
}

// What a header is called in which JetStream tells of a message.
const (
	operationHeader = "KV-Operation" // as other clients of a bucket write it
	markerHeader    = "Nats-Marker-Reason"
	pendingHeader   = "Nats-Num-Pending"
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
	if isShared(bucket, key) {
		return s.newest(ctx, bucket, key)
	}
	msg, err := s.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+streamOf(bucket)+"."+subjectOf(bucket, key), nil)
	if err != nil && !errors.Is(err, nats.ErrNoResponders) { // the writer of the key may have forged the status "no responders"
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	if err == nil {
		if status := statusOf(msg); status == "404" {
			return fleet.Entry{}, fleet.ErrMissing
		} else if status != "" {
			return fleet.Entry{}, fmt.Errorf("get %s: the server answers %s %s", key, status, msg.Header.Get("Description"))
		}
		if e, err := entryOf(bucket, msg); err == nil {
			return e, nil
		}
	}
	return s.atLeast(ctx, bucket, key)
}

// atLeast is last for a key whose writer has put something into its header that makes it unreadable: where it stands is
// known all the same, so that it can be written over.
func (s *Store) atLeast(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	ask, stop, err := s.asking(bucket)
	if err != nil {
		return fleet.Entry{}, err
	}
	defer stop()
	got, err := ask(ctx, key, 1, 1, batchBytes)
	switch {
	case err != nil:
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	case len(got.entries) > 0:
		return got.entries[0], nil
	case got.last == 0:
		return fleet.Entry{}, fleet.ErrMissing
	default:
		return fleet.Entry{Key: key, Rev: got.last}, nil
	}
}

// shortestStored is less than the header of any stored message has, in bytes: the server adds where and when it is stored. Its
// own words are shorter.
const shortestStored = 128

// statusOf returns what the server says for itself; "": the message is one that is stored. Who stored it has written some
// of its header, and may have written a status there.
func statusOf(msg *nats.Msg) string {
	header := msg.Size() - len(msg.Subject) - len(msg.Reply) - len(msg.Data)
	if header >= shortestStored || len(msg.Data) > 0 {
		return ""
	}
	return msg.Header.Get("Status")
}

// said returns the last value of a header: the server appends its own after those of the writer.
func said(msg *nats.Msg, header string) string {
	all := msg.Header.Values(header)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// entryOf reads a message that the server sent by itself, or was asked for. A value that is too large is left out.
func entryOf(bucket fleet.Bucket, msg *nats.Msg) (fleet.Entry, error) {
	rev, err := strconv.ParseUint(said(msg, nats.JSSequence), 10, 64)
	at, err2 := time.Parse(time.RFC3339Nano, said(msg, nats.JSTimeStamp))
	key, ours := strings.CutPrefix(said(msg, nats.JSSubject), subjectOf(bucket, ""))
	if err := errors.Join(err, err2); err != nil || !ours {
		return fleet.Entry{}, fmt.Errorf("read what the server sent: %w", errors.Join(err, errors.New("no entry of this bucket")))
	}
	e := fleet.Entry{Rev: rev, At: at, Gone: msg.Header.Get(operationHeader) != "" || msg.Header.Get(markerHeader) != ""}
	e.Key, e.By = recordOf(bucket, key)
	if !e.Gone && len(msg.Data) <= fleet.LargestValue {
		e.Value = msg.Data
	}
	return e, nil
}

// Bounds of what is read at a time, in keys and bytes. Other hosts may write as much as the server takes.
const (
	batch      = 1000
	batchBytes = 1 << 20
	pageBytes  = 8 << 20
	listBytes  = 64 << 20 // a hundred thousand hosts
)

// List returns what lies under all keys that begin so.
func (s *Store) List(ctx context.Context, bucket fleet.Bucket, prefix string) ([]fleet.Entry, error) {
	all, err := s.scan(ctx, bucket, above(prefix), 1, math.MaxInt, listBytes)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return slices.DeleteFunc(all.Entries, func(e fleet.Entry) bool { return !strings.HasPrefix(e.Key, prefix) }), nil
}

// Page is some keys of a bucket, in the order of their revisions.
type Page struct {
	Entries []fleet.Entry
	Next    uint64 // the revision after which the next page begins; 0: this is the last
	Left    int    // keys after that
}

// Page returns at most so many keys of a bucket, those that were written after that revision
// and are oldest. However many there are, no more are read.
func (s *Store) Page(ctx context.Context, bucket fleet.Bucket, after uint64, most int) (Page, error) {
	page, err := s.scan(ctx, bucket, ">", after+1, most+1, pageBytes)
	if err != nil {
		return Page{}, fmt.Errorf("read a page of %s: %w", bucket, err)
	}
	if over := len(page.Entries) - most; over > 0 {
		page.Entries, page.Left = page.Entries[:most], page.Left+over
		page.Next = page.Entries[most-1].Rev
	}
	return page, nil
}

// scan reads at most so many keys that fit a pattern.
func (s *Store) scan(ctx context.Context, bucket fleet.Bucket, pattern string, from uint64, most, mostBytes int) (all Page, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ask, stop, err := s.asking(bucket)
	if err != nil {
		return Page{}, err
	}
	defer stop()
	for more := true; more && len(all.Entries) < most && mostBytes > 0; {
		got, err := ask(ctx, pattern, from, min(batch, most-len(all.Entries)), min(batchBytes, mostBytes))
		if err != nil {
			return Page{}, err
		}
		for _, e := range got.entries {
			if !e.Gone {
				all.Entries = append(all.Entries, e)
			}
		}
		from, mostBytes = got.last+1, mostBytes-got.bytes
		if all.Next, all.Left, more = 0, got.left, got.left > 0; more {
			all.Next = got.last
		}
	}
	return all, nil
}

// asking returns what asks for some keys of a bucket that fit a pattern, from a revision on.
func (s *Store) asking(bucket fleet.Bucket) (ask func(ctx context.Context, pattern string, from uint64, most, mostBytes int) (piece, error), stop func(), err error) {
	replies := s.nc.NewInbox()
	in := make(chan *nats.Msg, batch+1) // a subscription of the client's own making has room for 65,536
	sub, err := s.nc.ChanSubscribe(replies, in)
	if err != nil {
		return nil, nil, err
	}
	ask = func(ctx context.Context, pattern string, from uint64, most, mostBytes int) (piece, error) {
		request := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d,"max_bytes":%d}`, from, subjectOf(bucket, pattern), most, mostBytes)
		if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+streamOf(bucket), replies, []byte(request)); err != nil {
			return piece{}, err
		}
		return collect(ctx, bucket, in)
	}
	return ask, func() { _ = sub.Unsubscribe() }, nil
}

// above returns the pattern of the keys among which those are that begin so.
func above(prefix string) string { return prefix[:strings.LastIndex(prefix, ".")+1] + ">" }

// piece is the answer to one request.
type piece struct {
	entries []fleet.Entry
	last    uint64 // the revision of the last one that was sent
	left    int    // keys after that
	bytes   int
}

// collect takes the answers to one request. An entry whose writer has made its header unreadable is left out.
func collect(ctx context.Context, bucket fleet.Bucket, in <-chan *nats.Msg) (p piece, err error) {
	for {
		var msg *nats.Msg
		select {
		case <-ctx.Done():
			return piece{}, context.Cause(ctx)
		case msg = <-in:
		}
		switch status := statusOf(msg); status {
		case "":
			p.bytes += msg.Size()
			if e, err := entryOf(bucket, msg); err == nil {
				p.entries = append(p.entries, e)
			}
		case "204": // that was all of this request
			p.last, err = strconv.ParseUint(msg.Header.Get(nats.JSLastSequence), 10, 64)
			if err != nil {
				return piece{}, fmt.Errorf("read where the server's answer ends: %w", err)
			}
			p.left, err = strconv.Atoi(msg.Header.Get(pendingHeader))
			return p, err
		case "404": // there is nothing
			return p, nil
		default:
			return piece{}, fmt.Errorf("the server answers %s %s", status, msg.Header.Get("Description"))
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

// Delete removes a key, or this host's record of it, if its revision has not changed.
func (s *Store) Delete(ctx context.Context, bucket fleet.Bucket, key string, rev uint64) error {
	msg := nats.NewMsg(s.subject(bucket, key))
	msg.Header.Set(operationHeader, "DEL")
	msg.Header.Set(jetstream.MsgTTLHeader, markerTTL.String())
	_, err := s.publish(ctx, msg, jetstream.WithExpectLastSequencePerSubject(rev))
	return err
}

func (s *Store) write(ctx context.Context, bucket fleet.Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error) {
	msg := nats.NewMsg(s.subject(bucket, key))
	msg.Data = value
	if lasts != 0 {
		const shortest = time.Second // the server counts no smaller ones
		msg.Header.Set(jetstream.MsgTTLHeader, max(lasts, shortest).Truncate(time.Second).String())
	}
	return s.publish(ctx, msg, expect(bucket, key, rev))
}

// publish writes a message if the expected revision has not changed.
func (s *Store) publish(ctx context.Context, msg *nats.Msg, expected jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, msg, expected)
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
	out := make(chan fleet.Entry, pending)
	go func() {
		defer close(out)
		defer func() { _ = sub.Unsubscribe() }()
		for {
			var msg *nats.Msg
			select {
			case <-ctx.Done():
				return
			case msg = <-in: // at once: what waits here may be large
			}
			e, err := entryOf(bucket, msg)
			if err != nil || !strings.HasPrefix(e.Key, prefix) {
				continue
			}
			select {
			case out <- e:
			default: // it is missed
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
