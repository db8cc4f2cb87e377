package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A digest is told once a day, and late rather than never.
func TestWhenADigestIsDue(t *testing.T) {
	zone := time.FixedZone("here", 2*60*60)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, zone) }
	for rule, c := range map[string]struct {
		now  time.Time
		want time.Time
	}{
		"before its time it was yesterday": {at(15, 7, 29), at(14, 7, 30)},
		"at its time":                      {at(15, 7, 30), at(15, 7, 30)},
		"a machine that slept over it":     {at(15, 11, 0), at(15, 7, 30)},
		"over the end of a month":          {at(1, 3, 0), time.Date(2026, 10, 31, 7, 30, 0, 0, zone)},
	} {
		t.Run(rule, func(t *testing.T) { require.Equal(t, c.want, lastDigest(c.now, "07:30")) })
	}
	require.True(t, lastDigest(at(15, 8, 0), "soon").IsZero(), "never")
}
