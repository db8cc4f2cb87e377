// Package fleet makes hosts that share an account wait for each other. It is a
// gate and no dispatcher: whatever it knows, and however wrong that is, it can only
// let a host wait. What is agreed lies in a Store that all hosts reach, and is
// decided there by compare-and-set alone; the rules are pure functions of what is
// agreed, what happened, and when.
package fleet

import (
	"context"
	"errors"
	"time"
)

// Store is what the hosts of a fleet keep together: keys with revisions. Whoever
// writes names the revision that was read, and one alone wins; what was read only
// says what to try. JetStream is one, a Memory is another.
//
// An error that is none of those below says that nobody answered. What was to be
// written may be written all the same, also later.
type Store interface {
	// Get returns what lies under a key, or ErrMissing. It may be an old value.
	Get(ctx context.Context, bucket Bucket, key string) (Entry, error)

	// List returns what lies under all keys that begin so. It may be old, too.
	List(ctx context.Context, bucket Bucket, prefix string) ([]Entry, error)

	// Create writes a key that is not there, and returns its revision. It
	// returns ErrConflict where it is. Nobody writing it again, it is gone after lasts;
	// zero, or longer than its bucket keeps anything: as long as that does.
	Create(ctx context.Context, bucket Bucket, key string, value []byte, lasts time.Duration) (rev uint64, err error)

	// Update writes a key that stands at that revision, and returns the next
	// one. It returns ErrConflict where it stands at another, or is gone.
	Update(ctx context.Context, bucket Bucket, key string, value []byte, rev uint64, lasts time.Duration) (uint64, error)

	// Delete removes a key that stands at that revision, else it returns ErrConflict.
	Delete(ctx context.Context, bucket Bucket, key string, rev uint64) error

	// Watch tells of changes of keys that begin so, from now on, until ctx is
	// done; then the channel is closed. Some may be missed, as when the
	// connection was lost.
	Watch(ctx context.Context, bucket Bucket, prefix string) (<-chan Entry, error)

	// Publish hands in a notice of that host once: a second one by the same id is dropped.
	Publish(ctx context.Context, from, id string, notice []byte) error

	// Notices yields the notices that nobody is done with, first in first, until
	// ctx is done; then the channel is closed. Only who holds the lease of the
	// notifier listens.
	Notices(ctx context.Context) (<-chan Notice, error)

	// Now asks the store what time it is.
	Now(ctx context.Context) (time.Time, error)
}

// What a Store answers.
var (
	ErrConflict = errors.New("another host was faster")
	ErrMissing  = errors.New("no such key")
)

// Bucket is a set of keys that are kept alike.
type Bucket string

// The buckets.
const (
	Accounts Bucket = "resumed_accounts" // how accounts stand, and who looked after a shared session; kept for two weeks
	Leases   Bucket = "resumed_leases"   // who is there and holds what, as long as that is written again and again
	View     Bucket = "resumed_view"     // sessions, to be looked at; kept for a day
)

// How long what is in a bucket is kept without being written again, by the store's
// own clock.
const (
	LeasesTTL   = 6 * time.Hour // a lease says itself how long it lasts, which is less
	AccountsTTL = 14 * 24 * time.Hour
	ViewTTL     = 24 * time.Hour
)

// TTL returns how long the keys of the bucket are kept.
func (b Bucket) TTL() time.Duration {
	switch b {
	case Leases:
		return LeasesTTL
	case View:
		return ViewTTL
	default:
		return AccountsTTL
	}
}

// Entry is what lies under a key, or that it is gone.
type Entry struct {
	Key   string
	Value []byte
	Rev   uint64
	At    time.Time // when it was written, by the store's clock
	By    string    // the host that wrote a key which any host may hold; "": not told
	Gone  bool      // the key was deleted, or its time is over; only Watch tells
}

// Notice is something that people are told once.
type Notice struct {
	Host  string // that has handed it in, as the store knows it
	ID    string
	At    time.Time // when it was handed in, by the store's clock
	Data  []byte
	Done  func(context.Context) error // it need not be told again
	Leave func(context.Context) error // it is told later, others may be told before
}

// NotifierKey names the lease of the host that tells people.
const NotifierKey = "notifier"

const hostPrefix = "host."

// HostKey names the lease of a host: it is there as long as that is held.
func HostKey(host string) string { return hostPrefix + host }

// ProbeKey names the lease of who tries whether an account's limit is over. The account is
// its key among Accounts.
func ProbeKey(account string) string { return "probe." + account }

// SessionKey names the lease of who looks after a shared session, by a hash of where that
// lies and what it is called.
func SessionKey(hash string) string { return "sess." + hash }

// OwnerKey names, among Accounts, who looked after a shared session last: a lease
// is gone with its host, and this is not.
func OwnerKey(hash string) string { return "owner." + hash }
