package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
	"resumed/internal/fleet/natskv"
)

// buckets are the buckets that every host may read.
var buckets = []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View}

const (
	mostReplicas = 3

	// ordersTTL is how long an order, and its answer, is stored.
	ordersTTL = time.Minute

	// noticesKept is how long the id of a notice is stored: the longest time between two hosts that
	// meet the same limit.
	noticesKept = 24 * time.Hour

	// mostUndone is how many notices may wait for another delivery while others are reported.
	mostUndone = 1000
)

var mostBytes = map[fleet.Bucket]int64{fleet.Accounts: 64 << 20, fleet.Leases: 64 << 20, fleet.View: 256 << 20, natskv.Orders: 8 << 20}

// makeStreams creates the streams of a fleet, with a replica on each server, at most three.
func makeStreams(ctx context.Context, nc *nats.Conn) error {
	js, _ := jetstream.New(nc) // without options, it does not fail
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for _, cfg := range streams() {
		if err := ensureStream(ctx, js, cfg); err != nil {
			return &streamError{cfg.Name, err}
		}
	}
	_, err := js.CreateOrUpdateConsumer(ctx, natskv.NoticeStream, jetstream.ConsumerConfig{
		Durable: natskv.NoticeConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: natskv.LongestReport, MaxAckPending: mostUndone, MaxDeliver: natskv.MaxDeliver,
	})
	if err != nil {
		return &streamError{natskv.NoticeStream, err}
	}
	return nil
}

type streamError struct {
	Stream string
	Err    error
}

func (e *streamError) Error() string { return fmt.Sprintf("make stream %s: %v", e.Stream, e.Err) }
func (e *streamError) Unwrap() error { return e.Err }

func streams() []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for _, b := range buckets {
		cfg := jetstream.StreamConfig{
			Name: natskv.StreamOf(b), Subjects: []string{natskv.SubjectOf(b, ">")}, MaxMsgsPerSubject: 1, MaxMsgSize: fleet.LargestValue,
			MaxBytes: mostBytes[b], Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, Storage: jetstream.MemoryStorage, MaxAge: fleet.TTL[b],
			AllowMsgTTL: true, SubjectDeleteMarkerTTL: natskv.MarkerTTL,
			RePublish: &jetstream.RePublish{Source: natskv.SubjectOf(b, ">"), Destination: natskv.Changes[b] + ">"},
		}
		if b == fleet.Accounts {
			cfg.Storage = jetstream.FileStorage
		}
		all = append(all, cfg)
	}
	return append(all, jetstream.StreamConfig{
		Name: natskv.StreamOf(natskv.Orders), Subjects: []string{natskv.SubjectOf(natskv.Orders, ">")}, MaxMsgSize: fleet.LargestValue, MaxAge: ordersTTL,
		MaxBytes: mostBytes[natskv.Orders], Storage: jetstream.MemoryStorage, DenyDelete: true,
		RePublish: &jetstream.RePublish{Source: natskv.SubjectOf(natskv.Orders, ">"), Destination: natskv.Changes[natskv.Orders] + ">"},
	}, jetstream.StreamConfig{
		Name: natskv.NoticeStream, Subjects: []string{natskv.NoticeSubject + "*"}, Storage: jetstream.FileStorage, MaxMsgSize: fleet.LargestValue,
		MaxAge: noticesKept, Duplicates: noticesKept, MaxMsgs: 10_000, MaxBytes: 32 << 20, DenyDelete: true,
	})
}

// ensureStream asks for fewer replicas if there are fewer servers.
func ensureStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (err error) {
	for cfg.Replicas = mostReplicas; cfg.Replicas >= 1; cfg.Replicas-- {
		if _, err = js.CreateOrUpdateStream(ctx, cfg); err == nil {
			return nil
		}
		refused, ok := errors.AsType[*jetstream.APIError](err)
		if !ok || refused.ErrorCode != 10074 && refused.ErrorCode != 10005 {
			return err // the number of servers is not the reason
		}
	}
	return err
}

// Bounds of what one host may store, in keys of at most fleet.LargestValue bytes. The server bounds
// only whole streams, which one host could fill alone.
const (
	mostViews   = 3000 // sessions that other hosts are shown
	mostRecords = 500  // leases and owner records
	betweenCuts = 500  // writes of a host between two cuts
)

// boundHosts removes the oldest keys of each host that has too many, until the connection is closed,
// and reports how many it removed.
func boundHosts(nc *nats.Conn, report func(host string, cut int, err error)) error {
	written := make(map[string]int)
	sub, err := nc.Subscribe("resumed.v1.*.>", func(msg *nats.Msg) {
		host := natskv.WriterOf(msg.Subject)
		if written[host]++; host == "" || written[host] < betweenCuts {
			return
		}
		delete(written, host)
		if n, err := cutHost(nc, host, mostViews, mostRecords); n > 0 || err != nil {
			report(host, n, err)
		}
	})
	if err != nil {
		return fmt.Errorf("watch the writes of hosts: %w", err)
	}
	return sub.SetPendingLimits(2*betweenCuts, 32<<20) // missed writes are not counted
}

// cutHost removes all but the newest keys of a host, and returns how many it removed.
func cutHost(nc *nats.Conn, host string, views, records int) (cut int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for b, patterns := range ownKeys(host) {
		keep := records
		if b == fleet.View {
			keep = views
		}
		for _, pattern := range patterns {
			request := fmt.Sprintf(`{"filter":%q,"keep":%d}`, natskv.SubjectOf(b, pattern), keep)
			msg, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+natskv.StreamOf(b), []byte(request))
			if err != nil {
				return cut, fmt.Errorf("cut what %s has stored: %w", host, err)
			}
			var said struct {
				Purged int `json:"purged"`
			}
			if err := json.Unmarshal(msg.Data, &said); err != nil {
				return cut, fmt.Errorf("cut what %s has stored: %w", host, err)
			}
			cut += said.Purged
		}
	}
	return cut, nil
}
