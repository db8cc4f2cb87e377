package natskv

import (
	"strings"
	"time"

	"resumed/internal/fleet"
)

// The names of the streams and subjects of a fleet, which the hub creates and its hosts use.
const (
	NoticeStream   = "RESUMED_NOTICES"
	NoticeSubject  = "resumed.v1.notice." // followed by the host that publishes it
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

// A key that any host may hold has a record for each host, KEY.HOST, and a host may only write its own
// records: so no host can delete what another one holds. The newest record counts, and a write names
// the newest revision of all of them.

// isShared reports whether any host may hold a key.
func isShared(bucket fleet.Bucket, key string) bool {
	switch bucket {
	case fleet.Leases:
		return !strings.HasPrefix(key, fleet.HostKey(""))
	case fleet.Accounts:
		return strings.HasPrefix(key, fleet.OwnerKey(""))
	default:
		return false
	}
}

// recordOf splits the key of a record into the shared key and the host that wrote it.
func recordOf(bucket fleet.Bucket, record string) (key, by string) {
	at := strings.LastIndex(record, ".")
	if !isShared(bucket, record) || at < 0 {
		return record, ""
	}
	return record[:at], record[at+1:]
}

// WriterOf returns the host that made a change, by its subject; "": it may be any host.
func WriterOf(subject string) string {
	if key, ok := strings.CutPrefix(subject, Changes[fleet.View]); ok {
		host, _, _ := strings.Cut(key, ".")
		return host
	}
	if host, ok := strings.CutPrefix(subject, Changes[fleet.Leases]+fleet.HostKey("")); ok {
		return host
	}
	for _, b := range []fleet.Bucket{fleet.Accounts, fleet.Leases} {
		if key, ok := strings.CutPrefix(subject, Changes[b]); ok {
			_, by := recordOf(b, key)
			return by
		}
	}
	return ""
}
