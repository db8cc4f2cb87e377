package natskv

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"resumed/internal/fleet"
)

// A key that any host may hold has a record for each host, KEY.HOST, and the rights of a host let it write
// its own records alone: so no host deletes what another one holds. What counts is the newest record that
// is there, and a write names the newest revision of all of them.

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

// subject returns where this host writes a key.
func (s *Store) subject(bucket fleet.Bucket, key string) string {
	if isShared(bucket, key) {
		key += "." + s.host
	}
	return subjectOf(bucket, key)
}

// expect makes the server refuse a write if the revision of the key has changed.
func expect(bucket fleet.Bucket, key string, rev uint64) jetstream.PublishOpt {
	if isShared(bucket, key) {
		return jetstream.WithExpectLastSequenceForSubject(rev, subjectOf(bucket, key+".*"))
	}
	return jetstream.WithExpectLastSequencePerSubject(rev)
}

// recordOf parts the key of a record into that which the hosts share and the host that wrote it.
func recordOf(bucket fleet.Bucket, record string) (key, by string) {
	at := strings.LastIndex(record, ".")
	if !isShared(bucket, record) || at < 0 {
		return record, ""
	}
	return record[:at], record[at+1:]
}

// newest returns the newest record of a key that hosts share, with the revision of the last write to any
// of them.
func (s *Store) newest(ctx context.Context, bucket fleet.Bucket, key string) (fleet.Entry, error) {
	ask, stop, err := s.asking(bucket)
	if err != nil {
		return fleet.Entry{}, err
	}
	defer stop()
	got, err := ask(ctx, key+".*", 1, batch, batchBytes)
	switch {
	case err != nil:
		return fleet.Entry{}, fmt.Errorf("get %s: %w", key, err)
	case got.left > 0:
		return fleet.Entry{}, fmt.Errorf("get %s: more than %d hosts have written it", key, batch)
	case got.last == 0:
		return fleet.Entry{}, fleet.ErrMissing
	}
	newest := fleet.Entry{Key: key, Gone: true}
	for _, e := range got.entries { // in the order of their revisions
		if !e.Gone {
			newest = e
		}
	}
	newest.Rev = got.last
	return newest, nil
}
