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

// orders is the bucket in which hosts ask each other and answer, for a minute. A key begins with the
// name of the host that writes it, and a host has no right to write other keys: so the sender of an order
// and of an answer is proved.
const (
	orders    fleet.Bucket = "resumed_orders"
	ordersTTL              = time.Minute
)

func askKey(from, to, id string) string    { return from + "." + to + "." + id + ".ask" }
func answerKey(from, to, id string) string { return from + "." + to + "." + id + ".answer" }

// told names, for each bucket, the subjects on which its changes are told to everybody: a
// consumer for each host would be a thousand, of which the next is refused.
var told = map[fleet.Bucket]string{
	fleet.Accounts: "resumed.v1.acct.",
	fleet.Leases:   "resumed.v1.lease.",
	fleet.View:     "resumed.v1.view.",
	orders:         "resumed.v1.order.",
}

// read are the buckets in which every host may read everything.
var read = []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View}

const (
	mostReplicas = 3

	// markerTTL is how long a mark stands where a key was.
	markerTTL = time.Minute

	// noticesKept is how long a notice is known again by its id. It is the longest
	// that hosts may take one after the other to see the same limit.
	noticesKept = 24 * time.Hour

	// longestTell is how long the holder of the notifier's lease may take to tell one.
	longestTell = time.Minute

	// mostUndone is how many notices may be left for later while others are told.
	mostUndone = 1000

	// maxDeliver is how often one is given to hosts that do not answer.
	maxDeliver = 100
)

// mostBytes is how much a bucket holds at most: it is the memory, or the disk, of the servers.
var mostBytes = map[fleet.Bucket]int64{fleet.Accounts: 64 << 20, fleet.Leases: 64 << 20, fleet.View: 256 << 20, orders: 8 << 20}

func streamOf(b fleet.Bucket) string            { return "KV_" + string(b) }
func subjectOf(b fleet.Bucket, k string) string { return "$KV." + string(b) + "." + k }

// Ensure makes the streams of a fleet, with as many replicas as there are servers, three
// at most. It needs more rights than a host has: the hub does it.
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

// StreamError says which stream of a fleet cannot be had.
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
			RePublish: &jetstream.RePublish{Source: subjectOf(b, ">"), Destination: told[b] + ">"},
		}
		if b == fleet.Accounts {
			cfg.Storage = jetstream.FileStorage
		}
		all = append(all, cfg)
	}
	return append(all, jetstream.StreamConfig{
		Name: streamOf(orders), Subjects: []string{subjectOf(orders, ">")}, MaxMsgSize: fleet.LargestValue, MaxAge: ordersTTL,
		MaxBytes: mostBytes[orders], Storage: jetstream.MemoryStorage, DenyDelete: true,
		RePublish: &jetstream.RePublish{Source: subjectOf(orders, ">"), Destination: told[orders] + ">"},
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
			return err // not for want of servers
		}
	}
	return err
}

// Rights is what a user of the server may do.
type Rights struct {
	Inbox     string   // where answers to it are sent
	Publish   []string // what it writes to the fleet, or asks of it
	Subscribe []string // what of the fleet it is told
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

// HostRights returns what a host of that name needs, and no more: its own leases and
// view, what accounts have in common, and to look. It can neither delete a stream nor write
// what is another's.
func HostRights(name string) Rights {
	r := Rights{
		Inbox: inbox(name) + ".>",
		Publish: []string{
			subjectOf(fleet.Accounts, "*"), subjectOf(fleet.Accounts, "*.*"),
			noticeSubject + name, subjectOf(orders, name+".>"),
			"$JS.API.STREAM.INFO." + noticeStream, "$JS.API.CONSUMER.INFO." + noticeStream + "." + notifier,
			"$JS.API.CONSUMER.MSG.NEXT." + noticeStream + "." + notifier, "$JS.ACK." + noticeStream + "." + notifier + ".>",
		},
		Subscribe: []string{told[orders] + "*." + name + ".>"},
	}
	for b, patterns := range own(name) {
		for _, pattern := range patterns {
			r.Publish = append(r.Publish, subjectOf(b, pattern))
		}
	}
	for _, b := range read {
		direct := "$JS.API.DIRECT.GET." + streamOf(b)
		r.Publish = append(r.Publish, direct, direct+".>", "$JS.API.STREAM.INFO."+streamOf(b))
		r.Subscribe = append(r.Subscribe, told[b]+">")
	}
	return r
}

// GuestRights returns what the holder of an invitation may do: ask to be let in by it.
func GuestRights(key string) Rights {
	return Rights{Inbox: inbox(guest) + ".>", Publish: []string{joinSubject + key}}
}

// Services names what the account of the streams offers to those of the hosts, and whether one
// request has several answers.
func Services() map[string]bool {
	return map[string]bool{
		"$KV.>": false, "$JS.ACK.>": false, "$JS.API.STREAM.INFO.*": false, "$JS.API.CONSUMER.INFO.*.*": false,
		"$JS.API.DIRECT.GET.*.>": false, "$JS.API.DIRECT.GET.*": true, "$JS.API.CONSUMER.MSG.NEXT.*.*": true,
		"resumed.v1.>": false,
	}
}

// inbox is where answers to a host are sent. Each has its own, so that nobody listens to
// another's.
func inbox(name string) string { return "_INBOX_" + name }

// guest is how a host is called that was not let in yet. No host can be called so.
const guest = "-guest"
