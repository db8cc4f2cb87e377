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
	noticeSubject = "resumed.v1.notice"
	notifier      = "notifier" // the consumer of notices
	orderSubject  = "resumed.v1.order."
	joinSubject   = "resumed.v1.join"
)

// told names, for each bucket, the subjects on which its changes are told to everybody: a
// consumer for each host would be a thousand, of which the next is refused.
var told = map[fleet.Bucket]string{
	fleet.Accounts: "resumed.v1.acct.",
	fleet.Leases:   "resumed.v1.lease.",
	fleet.View:     "resumed.v1.view.",
}

const (
	mostReplicas = 3

	// largestValue is far above what a host has to say of one thing.
	largestValue = 64 << 10

	// markerTTL is how long a mark stands where a key was.
	markerTTL = time.Minute

	// noticesKept is how long a notice is known again by its id. It is the longest
	// that hosts may take one after the other to see the same limit.
	noticesKept = 24 * time.Hour

	// patience is how long the holder of the notifier's lease may take to tell one.
	patience = time.Minute
)

func streamOf(b fleet.Bucket) string            { return "KV_" + string(b) }
func subjectOf(b fleet.Bucket, k string) string { return "$KV." + string(b) + "." + k }

// Ensure makes the streams of a fleet, with as many replicas as there are servers, three
// at most. It needs more rights than a host has: the hub does it.
func Ensure(ctx context.Context, js jetstream.JetStream) error {
	for _, cfg := range streams() {
		if err := ensure(ctx, js, cfg); err != nil {
			return fmt.Errorf("make stream %s: %w", cfg.Name, err)
		}
	}
	_, err := js.CreateOrUpdateConsumer(ctx, noticeStream, jetstream.ConsumerConfig{
		Durable: notifier, AckPolicy: jetstream.AckExplicitPolicy, AckWait: patience, MaxAckPending: 1,
	})
	if err != nil {
		return fmt.Errorf("make the consumer of notices: %w", err)
	}
	return nil
}

func streams() []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for _, b := range []fleet.Bucket{fleet.Accounts, fleet.Leases, fleet.View} {
		cfg := jetstream.StreamConfig{
			Name: streamOf(b), Subjects: []string{subjectOf(b, ">")}, MaxMsgsPerSubject: 1, MaxMsgSize: largestValue,
			Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, Storage: jetstream.MemoryStorage, MaxAge: b.TTL(),
			AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTTL,
			RePublish: &jetstream.RePublish{Source: subjectOf(b, ">"), Destination: told[b] + ">"},
		}
		if b == fleet.Accounts {
			cfg.Storage = jetstream.FileStorage
		}
		all = append(all, cfg)
	}
	return append(all, jetstream.StreamConfig{
		Name: noticeStream, Subjects: []string{noticeSubject}, Storage: jetstream.FileStorage, MaxMsgSize: largestValue,
		MaxAge: noticesKept, Duplicates: noticesKept, MaxMsgs: 10_000, DenyDelete: true,
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

// Rights is what a user of the server may do: subjects to publish to and to listen on.
type Rights struct{ Publish, Subscribe []string }

// HostRights returns what a host of that name needs, and no more: its own lease and
// view, what accounts have in common, and to look. It can neither delete a stream nor write
// what is another's.
func HostRights(name string) Rights {
	r := Rights{
		Publish: []string{
			subjectOf(fleet.Accounts, ">"),
			subjectOf(fleet.Leases, fleet.HostKey(name)), subjectOf(fleet.Leases, fleet.ProbeKey(">")),
			subjectOf(fleet.Leases, fleet.SessionKey(">")), subjectOf(fleet.Leases, fleet.NotifierKey),
			subjectOf(fleet.View, name+".>"),
			noticeSubject, orderSubject + "*",
			"$JS.API.STREAM.INFO." + noticeStream, "$JS.API.CONSUMER.INFO." + noticeStream + "." + notifier,
			"$JS.API.CONSUMER.MSG.NEXT." + noticeStream + "." + notifier, "$JS.ACK." + noticeStream + "." + notifier + ".>",
		},
		Subscribe: []string{inbox(name) + ".>", orderSubject + name},
	}
	for b, subject := range told {
		direct := "$JS.API.DIRECT.GET." + streamOf(b)
		r.Publish = append(r.Publish, direct, direct+".>", "$JS.API.STREAM.INFO."+streamOf(b))
		r.Subscribe = append(r.Subscribe, subject+">")
	}
	return r
}

// GuestRights returns what the holder of an invitation may do: ask to be let in.
func GuestRights() Rights {
	return Rights{Publish: []string{joinSubject}, Subscribe: []string{inbox(guest) + ".>"}}
}

// inbox is where answers to a host are sent. Each has its own, so that nobody listens to
// another's.
func inbox(name string) string { return "_INBOX_" + name }

// guest is how a host is called that was not let in yet. No host can be called so.
const guest = "-guest"
