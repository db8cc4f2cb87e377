package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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

var mostNoticeBytes int64 = 32 << 20

// largest is the largest entry of a bucket, in bytes with its header.
var largest = map[fleet.Bucket]int32{fleet.Accounts: 2 << 10, fleet.Leases: 4 << 10, fleet.View: fleet.LargestValue}

// shortestWindow is how long ids of messages are remembered, where none are used: the server has no shorter
// time. It stores any number of ids of any length, beyond all bounds of the stream.
const shortestWindow = 100 * time.Millisecond

// makeStreams creates the streams of a fleet, with a replica on each server, at most three.
func makeStreams(ctx context.Context, nc *nats.Conn) error {
	js, _ := jetstream.New(nc) // without options, it does not fail
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	for _, cfg := range streams() {
		if err := ensureStream(ctx, js, cfg); err != nil {
			return &streamError{cfg.Name, err}
		}
		if err := asAsked(ctx, nc, cfg); err != nil {
			return err
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

// streams are the streams of a fleet. No option may let a message do more than be stored: a host writes
// messages of its own, with any header, and Nats-Rollup would empty the stream for all. So deletions leave
// markers that expire by Nats-TTL, and not those of the server (SubjectDeleteMarkerTTL), which permit rollup.
func streams() []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for _, b := range buckets {
		cfg := jetstream.StreamConfig{
			Name: natskv.StreamOf(b), Subjects: []string{natskv.SubjectOf(b, ">")}, MaxMsgsPerSubject: 1, MaxMsgSize: largest[b],
			MaxBytes: mostBytes[b], Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, Storage: jetstream.MemoryStorage, MaxAge: fleet.TTL[b],
			AllowMsgTTL: true, Duplicates: shortestWindow,
			RePublish: &jetstream.RePublish{Source: natskv.SubjectOf(b, ">"), Destination: natskv.Changes[b] + ">"},
		}
		if b == fleet.Accounts {
			cfg.Storage = jetstream.FileStorage
		}
		all = append(all, cfg)
	}
	return append(all, jetstream.StreamConfig{
		Name: natskv.StreamOf(natskv.Orders), Subjects: []string{natskv.SubjectOf(natskv.Orders, ">")}, MaxMsgSize: fleet.LargestValue, MaxAge: ordersTTL,
		MaxBytes: mostBytes[natskv.Orders], Storage: jetstream.MemoryStorage, DenyDelete: true, Duplicates: shortestWindow,
		RePublish: &jetstream.RePublish{Source: natskv.SubjectOf(natskv.Orders, ">"), Destination: natskv.Changes[natskv.Orders] + ">"},
	}, jetstream.StreamConfig{
		Name: natskv.NoticeStream, Subjects: []string{natskv.NoticeSubject + "*.*"}, Storage: jetstream.FileStorage, MaxMsgSize: fleet.LargestValue,
		MaxAge: noticesKept, Duplicates: shortestWindow, MaxBytes: mostNoticeBytes, Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true,
		RePublish: &jetstream.RePublish{Source: natskv.NoticeSubject + ">", Destination: natskv.NoticesStored + ">"},
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

// asAsked reads back how a stream is configured. A server may add options by itself, and each may permit
// hosts something that nobody has thought of.
func asAsked(ctx context.Context, nc *nats.Conn, cfg jetstream.StreamConfig) error {
	msg, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+cfg.Name, nil)
	var is struct {
		Config map[string]any `json:"config"`
	}
	if err == nil {
		err = json.Unmarshal(msg.Data, &is)
	}
	if err != nil {
		return fmt.Errorf("read back stream %s: %w", cfg.Name, err)
	}
	if added := addedTo(cfg, is.Config); added != "" {
		return fmt.Errorf("the server has given stream %s an option that nobody asked for, %s: machines could harm each other, so use the version of nats-server that belongs to this version of resumed", cfg.Name, added)
	}
	return nil
}

// addedTo returns an option that a stream has beyond those that were asked for; "": it has none. Texts and
// bounds permit nothing.
func addedTo(cfg jetstream.StreamConfig, is map[string]any) string {
	text, _ := json.Marshal(cfg) // it does not fail
	var asked map[string]any
	_ = json.Unmarshal(text, &asked)
	for _, name := range slices.Sorted(maps.Keys(is)) {
		permits := false
		switch value := is[name].(type) {
		case bool:
			permits = value
		case float64:
			permits = name == "subject_delete_marker_ttl" && value != 0
		case []any:
			permits = len(value) > 0
		case map[string]any:
			permits = len(value) > 0 && name != "metadata"
		}
		if _, ours := asked[name]; permits && (!ours || asked[name] == false) {
			return name
		}
	}
	return ""
}
