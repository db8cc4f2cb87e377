// Package fleet makes hosts that share an account wait for each other. It is a gate and not a
// dispatcher: even if its data is wrong, it can only make a host wait. The shared data is in a Store
// that all hosts reach, and is changed there only by compare-and-set. The rules are pure functions of
// the shared data, the events, and the time.
package fleet

import (
	"context"
	"errors"
	"time"
)

// AnswerWithin is the longest time that a Store takes for one answer.
const AnswerWithin = 5 * time.Second

// Store holds keys with revisions for all hosts of a fleet. A write names the revision that was read,
// and only one of several writers succeeds; a value that was read may be outdated.
//
// An error other than ErrConflict and ErrMissing means that the store did not answer within
// AnswerWithin. The write may still succeed, also later.
type Store interface {
	// Get returns the value of a key, or ErrMissing. It may be an old value.
	Get(ctx context.Context, bucket Bucket, key string) (Entry, error)

	// List returns the keys with that prefix. Their values may be old, too.
	List(ctx context.Context, bucket Bucket, prefix string) ([]Entry, error)

	// Update writes a key that has that revision, or with 0 one that does not exist, and returns its next
	// revision, or else ErrConflict. The key expires after lasts unless it is written again; zero: after
	// the TTL of its bucket, which is also the maximum.
	Update(ctx context.Context, bucket Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error)

	// Delete removes a key that has that revision, or else returns ErrConflict.
	Delete(ctx context.Context, bucket Bucket, key string, rev uint64) error

	// Watch sends the changes of Accounts, from now on, until ctx is done; then the channel is closed.
	// Changes may be missed, for example if the connection was lost; that a key has expired is not sent.
	Watch(ctx context.Context) (<-chan Entry, error)

	// Publish stores a notice of that host, unless one with the same id is stored, by whichever host. It
	// returns the one that is.
	Publish(ctx context.Context, from, id string, notice []byte) (Notice, error)

	// Notices calls tell for each stored notice, the oldest first, until ctx is done or the connection
	// is lost. A notice for which tell returns nil is removed; any other is delivered again later. Only
	// the holder of the notifier's lease calls it.
	Notices(ctx context.Context, tell func(context.Context, Notice) error) error

	// Now returns the store's time.
	Now(ctx context.Context) (time.Time, error)
}

// The answers of a Store that refuse something.
var (
	ErrConflict = errors.New("another host was faster")
	ErrMissing  = errors.New("no such key")
)

// Bucket is a set of keys with one TTL.
type Bucket string

// The buckets.
const (
	Accounts Bucket = "resumed_accounts" // the accounts, and the last owners of shared sessions
	Leases   Bucket = "resumed_leases"   // the hosts, and what each of them holds
	View     Bucket = "resumed_view"     // interrupted sessions, for people
)

// ViewTTL is how long a session is shown if it is not written again.
const ViewTTL = 24 * time.Hour

// TTL is when the keys of a bucket expire if they are not written again, by the store's clock. A lease has
// its own, shorter TTL.
var TTL = map[Bucket]time.Duration{Accounts: 14 * 24 * time.Hour, Leases: 6 * time.Hour, View: ViewTTL}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
	Rev   uint64
	At    time.Time // when it was written, by the store's clock
	By    string    // the host that wrote a key which any host may write; "": not known
	Gone  bool      // the key was deleted; only Watch returns such entries
}

// Notice is an event that is reported to people once.
type Notice struct {
	Host string // the host that published it, as the store knows it
	ID   string
	At   time.Time // when it was published, by the store's clock
	Data []byte
}

// NotifierKey is the lease of the host that reports to people.
const NotifierKey = "notifier"

const hostPrefix = "host."

// HostKey is the lease of a host: it exists as long as the host runs.
func HostKey(host string) string { return hostPrefix + host }

// ProbeKey is the lease of the host that tests whether an account's limit is over. The account is
// its key in Accounts.
func ProbeKey(account string) string { return "probe." + account }

// SessionKey is the lease of the host that has a shared session, by a hash of its path and id.
func SessionKey(hash string) string { return "sess." + hash }

// OwnerKey is the record, in Accounts, of the last host that had a shared session. It does not expire
// with its host, unlike a lease.
func OwnerKey(hash string) string { return "owner." + hash }
