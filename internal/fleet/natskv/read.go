package natskv

import (
	"context"
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

// Bounds of one read, in keys and bytes. Other hosts may write as much as the server accepts.
const (
	batch      = 1000
	batchBytes = 1 << 20
	pageBytes  = 8 << 20
	listBytes  = 64 << 20 // a hundred thousand hosts
)

// Get returns the value of a key.
func (s *Store) Get(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	e, err := s.last(ctx, bucket, key)
	if err == nil && e.Gone {
		return fleet.Entry{}, fleet.ErrMissing
	}
	return e, err
}

// last is like Get, but also returns a deleted key, with the revision of the last write to it. A key
// with an unreadable header has no value, and can be written again.
func (s *Store) last(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	pattern, shared := key, isShared(bucket, key)
	if shared {
		pattern += ".*"
	}
	msg, err := s.newest(ctx, StreamOf(bucket), SubjectOf(bucket, pattern))
	if err != nil {
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	}
	if e, err := entryOf(bucket, msg); err == nil && !e.Gone {
		return e, nil
	}
	found, err := s.scan(ctx, bucket, pattern, 1, math.MaxInt, listBytes) // the record of another host may count
	switch {
	case err != nil:
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	case found.last == 0:
		return fleet.Entry{}, fleet.ErrMissing
	}
	newest := fleet.Entry{Key: key, Gone: shared || found.deleted}
	if n := len(found.Entries); n > 0 {
		newest = found.Entries[n-1]
	}
	newest.Rev = found.last
	return newest, nil
}

// newest reads the last message on the subjects that match a pattern.
func (s *Store) newest(ctx context.Context, stream, pattern string) (*nats.Msg, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	replies, in, stop, err := s.answers(1)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := s.nc.PublishRequest(directGet+stream, replies, fmt.Appendf(nil, `{"last_by_subj":%q}`, pattern)); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case msg := <-in:
		switch status := statusOf(msg); status {
		case "":
			return msg, nil
		case "404":
			return nil, fleet.ErrMissing
		default:
			return nil, errors.New(refusal(status, msg))
		}
	}
}

const directGet = "$JS.API.DIRECT.GET."

// answers returns a subject for the answers to requests, and the channel that gets them. The client's own
// requests do not do: they take a stored message for an error if its writer has given it such a header.
func (s *Store) answers(room int) (subject string, in chan *nats.Msg, stop func(), err error) {
	subject, in = s.nc.NewInbox(), make(chan *nats.Msg, room) // a channel that the client creates has room for 65,536
	sub, err := s.nc.ChanSubscribe(subject, in)
	return subject, in, func() { _ = sub.Unsubscribe() }, err
}

func refusal(status string, msg *nats.Msg) string {
	return fmt.Sprintf("the server answers %s %s", status, msg.Header.Get("Description"))
}

// List returns the keys with that prefix.
func (s *Store) List(ctx context.Context, bucket fleet.Bucket, prefix string) ([]fleet.Entry, error) {
	all, err := s.scan(ctx, bucket, patternOf(prefix), 1, math.MaxInt, listBytes)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return slices.DeleteFunc(all.Entries, func(e fleet.Entry) bool { return !strings.HasPrefix(e.Key, prefix) }), nil
}

// patternOf returns a pattern that all keys with that prefix match, and perhaps others.
func patternOf(prefix string) string { return prefix[:strings.LastIndex(prefix, ".")+1] + ">" }

// Page is some keys of a bucket, in the order of their revisions.
type Page struct {
	Entries []fleet.Entry
	Next    uint64 // the revision after which the next page begins; 0: this is the last
	Left    int    // keys after that
}

// Page returns at most most keys of a bucket: the oldest of those that were written after that
// revision. However many there are, no more are read.
func (s *Store) Page(ctx context.Context, bucket fleet.Bucket, after uint64, most int) (Page, error) {
	found, err := s.scan(ctx, bucket, ">", after+1, most+1, pageBytes)
	if err != nil {
		return Page{}, fmt.Errorf("read a page of %s: %w", bucket, err)
	}
	page := found.Page
	if over := len(page.Entries) - most; over > 0 {
		page.Entries, page.Left = page.Entries[:most], page.Left+over
		page.Next = page.Entries[most-1].Rev
	}
	return page, nil
}

// Newest returns the newest record of each shared key, in the order of their revisions. If there are more
// than can be read, the others are counted.
func (s *Store) Newest(ctx context.Context, bucket fleet.Bucket) (Page, error) {
	found, err := s.scan(ctx, bucket, ">", 1, math.MaxInt, pageBytes)
	if err != nil {
		return Page{}, fmt.Errorf("read %s: %w", bucket, err)
	}
	last := make(map[string]uint64)
	for _, e := range found.Entries {
		last[e.Key] = e.Rev
	}
	found.Entries = slices.DeleteFunc(found.Entries, func(e fleet.Entry) bool { return last[e.Key] != e.Rev })
	return found.Page, nil
}

type scanned struct {
	Page
	last    uint64 // the revision of the last key that was sent, also of a deleted one
	deleted bool   // deleted keys were left out
	bytes   int
}

// scan reads at most most keys that match a pattern, from a revision on.
func (s *Store) scan(ctx context.Context, bucket fleet.Bucket, pattern string, from uint64, most, mostBytes int) (found scanned, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	replies, in, stop, err := s.answers(batch + 1)
	if err != nil {
		return scanned{}, err
	}
	defer stop()
	for more := true; more && len(found.Entries) < most && found.bytes < mostBytes; more = found.Left > 0 {
		request := fmt.Sprintf(`{"seq":%d,"next_by_subj":%q,"batch":%d,"max_bytes":%d}`,
			max(from, found.last+1), SubjectOf(bucket, pattern), min(batch, most-len(found.Entries)), min(batchBytes, mostBytes-found.bytes))
		if err := s.nc.PublishRequest(directGet+StreamOf(bucket), replies, []byte(request)); err != nil {
			return scanned{}, err
		}
		if err := found.collect(ctx, bucket, in); err != nil {
			return scanned{}, err
		}
	}
	if found.Left > 0 {
		found.Next = found.last
	}
	return found, nil
}

// collect adds the answers to one request. An entry with an unreadable header is left out.
func (p *scanned) collect(ctx context.Context, bucket fleet.Bucket, in <-chan *nats.Msg) (err error) {
	for {
		var msg *nats.Msg
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case msg = <-in:
		}
		switch status := statusOf(msg); status {
		case "":
			p.bytes += msg.Size()
			e, err := entryOf(bucket, msg)
			p.deleted = p.deleted || e.Gone
			if err == nil && !e.Gone {
				p.Entries = append(p.Entries, e)
			}
		case "204": // the end of the answers
			if p.last, err = strconv.ParseUint(msg.Header.Get(nats.JSLastSequence), 10, 64); err == nil {
				p.Left, err = strconv.Atoi(msg.Header.Get(pendingHeader))
			}
			if err != nil {
				return fmt.Errorf("read where the server's answer ends: %w", err)
			}
			return nil
		case "404": // there is nothing
			p.Left = 0
			return nil
		default:
			return errors.New(refusal(status, msg))
		}
	}
}

// The headers in which JetStream describes a message.
const (
	operationHeader = "KV-Operation" // as other clients of a bucket write it
	markerHeader    = "Nats-Marker-Reason"
	pendingHeader   = "Nats-Num-Pending"
)

// minStoredHeader is less than the size of any stored message's header: the server adds where and when it was
// stored. The headers of the server's own answers are smaller.
const minStoredHeader = 128

// statusOf returns the status of an answer of the server itself; "": the message is a stored one. The
// writer of a stored message chooses a part of its header, and may have forged a status there.
func statusOf(msg *nats.Msg) string {
	header := msg.Size() - len(msg.Subject) - len(msg.Reply) - len(msg.Data)
	if header >= minStoredHeader || len(msg.Data) > 0 {
		return ""
	}
	return msg.Header.Get("Status")
}

// serverHeader returns the last value of a header: the server appends its own after those of the writer.
func serverHeader(msg *nats.Msg, header string) string {
	all := msg.Header.Values(header)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// outlives reports whether the writer of a message has asked the server to store it without end. What
// hosts write lapses, so such an entry does not count.
func outlives(msg *nats.Msg) bool {
	return slices.ContainsFunc(msg.Header.Values(jetstream.MsgTTLHeader), func(ttl string) bool { return strings.EqualFold(ttl, "never") })
}

// entryOf reads a stored message. A value that is too large is left out.
func entryOf(bucket fleet.Bucket, msg *nats.Msg) (fleet.Entry, error) {
	rev, err := strconv.ParseUint(serverHeader(msg, nats.JSSequence), 10, 64)
	at, err2 := time.Parse(time.RFC3339Nano, serverHeader(msg, nats.JSTimeStamp))
	key, ours := strings.CutPrefix(serverHeader(msg, nats.JSSubject), SubjectOf(bucket, ""))
	if err := errors.Join(err, err2); err != nil || !ours {
		return fleet.Entry{}, fmt.Errorf("read what the server sent: %w", errors.Join(err, errors.New("no entry of this bucket")))
	}
	e := fleet.Entry{Rev: rev, At: at, Gone: msg.Header.Get(operationHeader) != "" || msg.Header.Get(markerHeader) != "" || outlives(msg)}
	e.Key, e.By = recordOf(bucket, key)
	if !e.Gone && len(msg.Data) <= fleet.LargestValue {
		e.Value = msg.Data
	}
	return e, nil
}

// maxPendingChanges is how many changes may wait for the reader of a watch; further ones are missed.
const maxPendingChanges = 512

// Watch sends the changes of accounts.
func (s *Store) Watch(ctx context.Context) (<-chan fleet.Entry, error) {
	out := make(chan fleet.Entry, maxPendingChanges)
	sub, err := s.nc.Subscribe(Changes[fleet.Accounts]+">", func(msg *nats.Msg) {
		if e, err := entryOf(fleet.Accounts, msg); err == nil {
			select {
			case out <- e:
			default: // it is missed
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("watch accounts: %w", err)
	}
	sub.SetClosedHandler(func(string) { close(out) }) // after the last message
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	if s.nc.IsConnected() { // else the connection subscribes when it has a server
		flush, cancel := bounded(ctx)
		_ = s.nc.FlushWithContext(flush)
		cancel()
	}
	return out, nil
}
