package hub

import (
	"context"
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

// mostBytes bounds the memory or disk that a bucket takes.
var mostBytes = map[fleet.Bucket]int64{fleet.Accounts: 64 << 20, fleet.Leases: 64 << 20, fleet.View: 256 << 20, natskv.Orders: 8 << 20}

// makeStreams creates the streams of a fleet, with a replica on each server, at most three.
func makeStreams(ctx context.Context, nc *nats.Conn) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for _, cfg := range streams() {
		if err := ensureStream(ctx, js, cfg); err != nil {
			return &streamError{cfg.Name, err}
		}
	}
	_, err = js.CreateOrUpdateConsumer(ctx, natskv.NoticeStream, jetstream.ConsumerConfig{
		Durable: natskv.NoticeConsumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: natskv.LongestReport, MaxAckPending: mostUndone, MaxDeliver: natskv.MaxDeliver,
	})
	if err != nil {
		return &streamError{natskv.NoticeStream, err}
	}
	return nil
}

// streamError is the error of a stream that cannot be created.
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
			MaxBytes: mostBytes[b], Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, Storage: jetstream.MemoryStorage, MaxAge: b.TTL(),
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
