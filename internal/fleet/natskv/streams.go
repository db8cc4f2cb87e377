package natskv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
)

// The subjects of a fleet, beside those of its buckets.
const (
	noticeStream  = "RESUMED_NOTICES"
	noticeSubject = "resumed.v1.notice." // before the host that hands it in
	notifier      = "notifier"           // the consumer of notices
	joinSubject   = "resumed.v1.join."   // before the key of the join line
)

// orders is the bucket of orders to other hosts and of their answers, for a minute. A key begins with the
// name of the host that writes it, and a host has no right to write other keys: so the sender of an order
// and of an answer is proved.
const (
	orders    fleet.Bucket = "resumed_orders"
	ordersTTL              = time.Minute
)

func askKey(from, to, id string) string    { return from + "." + to + "." + id + ".ask" }
func answerKey(from, to, id string) string { return from + "." + to + "." + id + ".answer" }

// changes are the subjects on which the server sends every change of a bucket to all hosts: JetStream refuses
// the 1,001st consumer of a bucket.
var changes = map[fleet.Bucket]string{
	fleet.Accounts: "resumed.v1.acct.",
	fleet.Leases:   "resumed.v1.lease.",
	fleet.View:     "resumed.v1.view.",
	orders:         "resumed.v1.order.",
}

// read are the buckets in which every host may read everything.
var read = []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View}

const (
	mostReplicas = 3

	// markerTTL is how long the marker of a deleted key is stored.
	markerTTL = time.Minute

	// noticesKept is how long the id of a notice is known: the longest time between two hosts
	// that meet the same limit.
	noticesKept = 24 * time.Hour

	// longestTell is how long the holder of the notifier's lease may take to tell one.
	longestTell = time.Minute

	// mostUndone is how many notices may wait to come again while others are told.
	mostUndone = 1000

	// maxDeliver is how often one is given to hosts that do not answer.
	maxDeliver = 100
)

// mostBytes bounds a bucket: it takes memory, or disk, of the servers.
var mostBytes = map[fleet.Bucket]int64{fleet.Accounts: 64 << 20, fleet.Leases: 64 << 20, fleet.View: 256 << 20, orders: 8 << 20}

func streamOf(b fleet.Bucket) string            { return "KV_" + string(b) }
func subjectOf(b fleet.Bucket, k string) string { return "$KV." + string(b) + "." + k }

// Ensure makes the streams of a fleet, with a replica on each server, three
// at most. It needs more rights than a host has: it is the hub's part.
func Ensure(ctx context.Context, js jetstream.JetStream) error {
	for _, cfg := range streams() {
		if err := ensure(ctx, js, cfg); err != nil {
			return &StreamError{cfg.Name, err}
		}
	}
	_, err := js.CreateOrUpdateConsumer(ctx, noticeStream, jetstream.ConsumerConfig{
		Durable: notifier, AckPolicy: jetstream.AckExplicitPolicy, AckWait: longestTell, MaxAckPending: mostUndone, MaxDeliver: maxDeliver,
	})
	if err != nil {
		return &StreamError{noticeStream, err}
	}
	return nil
}

// StreamError says which stream of a fleet cannot be made.
type StreamError struct {
	Stream string
	Err    error
}

func (e *StreamError) Error() string { return fmt.Sprintf("make stream %s: %v", e.Stream, e.Err) }
func (e *StreamError) Unwrap() error { return e.Err }

func streams() []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for _, b := range read {
		cfg := jetstream.StreamConfig{
			Name: streamOf(b), Subjects: []string{subjectOf(b, ">")}, MaxMsgsPerSubject: 1, MaxMsgSize: fleet.LargestValue,
			MaxBytes: mostBytes[b], Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, Storage: jetstream.MemoryStorage, MaxAge: b.TTL(),
			AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL,
			RePublish: &jetstream.RePublish{Source: subjectOf(b, ">"), Destination: changes[b] + ">"},
		}
		if b == fleet.Accounts {
			cfg.Storage = jetstream.FileStorage
		}
		all = append(all, cfg)
	}
	return append(all, jetstream.StreamConfig{
		Name: streamOf(orders), Subjects: []string{subjectOf(orders, ">")}, MaxMsgSize: fleet.LargestValue, MaxAge: ordersTTL,
		MaxBytes: mostBytes[orders], Storage: jetstream.MemoryStorage, DenyDelete: true,
		RePublish: &jetstream.RePublish{Source: subjectOf(orders, ">"), Destination: changes[orders] + ">"},
	}, jetstream.StreamConfig{
		Name: noticeStream, Subjects: []string{noticeSubject + "*"}, Storage: jetstream.FileStorage, MaxMsgSize: fleet.LargestValue,
		MaxAge: noticesKept, Duplicates: noticesKept, MaxMsgs: 10_000, MaxBytes: 32 << 20, DenyDelete: true,
	})
}

// ensure asks for fewer replicas where there are fewer servers.
func ensure(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (err error) {
	for cfg.Replicas = mostReplicas; cfg.Replicas >= 1; cfg.Replicas-- {
		if _, err = js.CreateOrUpdateStream(ctx, cfg); err == nil {
			return nil
		}
		refused, ok := errors.AsType[*jetstream.APIError](err)
		if !ok || refused.ErrorCode != 10074 && refused.ErrorCode != 10005 {
			return err // not for lack of servers
		}
	}
	return err
}

// Rights are the subjects that a user of the server may use.
type Rights struct {
	Inbox     string // of the answers to it
	Publish   []string
	Subscribe []string
}

// own returns the keys that only the host of that name writes, as patterns.
func own(name string) map[fleet.Bucket][]string {
	return map[fleet.Bucket][]string{
		fleet.Accounts: {fleet.OwnerKey("*." + name)},
		fleet.Leases: {
			fleet.HostKey(name), fleet.SessionKey("*." + name), fleet.ProbeKey("*." + name), fleet.ProbeKey("*.*." + name),
			fleet.NotifierKey + "." + name,
		},
		fleet.View: {name + ".>"},
	}
}

// HostRights returns what a host of that name needs, and no more: to write its own leases and
// view, and the accounts, and to read. It can neither delete a stream nor write keys of
// another host.
func HostRights(name string) Rights {
	r := Rights{
		Inbox: inbox(name) + ".>",
		Publish: []string{
			subjectOf(fleet.Accounts, "*"), subjectOf(fleet.Accounts, "*.*"),
			noticeSubject + name, subjectOf(orders, name+".>"),
			"$JS.API.STREAM.INFO." + noticeStream, "$JS.API.CONSUMER.INFO." + noticeStream + "." + notifier,
			"$JS.API.CONSUMER.MSG.NEXT." + noticeStream + "." + notifier, "$JS.ACK." + noticeStream + "." + notifier + ".>",
		},
		Subscribe: []string{changes[orders] + "*." + name + ".>"},
	}
	for b, patterns := range own(name) {
		for _, pattern := range patterns {
			r.Publish = append(r.Publish, subjectOf(b, pattern))
		}
	}
	for _, b := range read {
		direct := "$JS.API.DIRECT.GET." + streamOf(b)
		r.Publish = append(r.Publish, direct, direct+".>", "$JS.API.STREAM.INFO."+streamOf(b))
		r.Subscribe = append(r.Subscribe, changes[b]+">")
	}
	return r
}

// GuestRights returns what the holder of an invitation may do: ask to be admitted.
func GuestRights(key string) Rights {
	return Rights{Inbox: inbox(guest) + ".>", Publish: []string{joinSubject + key}}
}

// Services are the subjects that the account of the streams offers to the accounts of the hosts, and whether a
// request has several answers.
func Services() map[string]bool {
	return map[string]bool{
		"$KV.>": false, "$JS.ACK.>": false, "$JS.API.STREAM.INFO.*": false, "$JS.API.CONSUMER.INFO.*.*": false,
		"$JS.API.DIRECT.GET.*.>": false, "$JS.API.DIRECT.GET.*": true, "$JS.API.CONSUMER.MSG.NEXT.*.*": true,
		"resumed.v1.>": false,
	}
}

// inbox is the subject of answers to a host. Each has its own, which no other host may subscribe to.
func inbox(name string) string { return "_INBOX_" + name }

// guest is the name of a host that was not admitted yet. No host can have that name.
const guest = "-guest"
