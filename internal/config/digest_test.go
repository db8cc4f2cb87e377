package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A digest is sent once a day, and late rather than never.
func TestWhenADigestIsDue(t *testing.T) {
	zone := time.FixedZone("here", 2*60*60)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, zone) }
	for rule, c := range map[string]struct {
		when         string
		now          time.Time
		begins, ends time.Time
	}{
		"before its time it was yesterday": {"07:30", at(15, 7, 29), at(14, 7, 30), at(14, 7, 30)},
		"at its time":                      {"07:30", at(15, 7, 30), at(15, 7, 30), at(15, 7, 30)},
		"a machine that slept over it":     {"07:30", at(15, 11, 0), at(15, 7, 30), at(15, 7, 30)},
		"over the end of a month":          {"07:30", at(1, 3, 0), time.Date(2026, 10, 31, 7, 30, 0, 0, zone), time.Date(2026, 10, 31, 7, 30, 0, 0, zone)},
		"in the evening of a night":        {"22:00-08:00", at(15, 23, 0), at(15, 22, 0), at(16, 8, 0)},
		"in its morning":                   {"22:00-08:00", at(16, 3, 0), at(15, 22, 0), at(16, 8, 0)},
		"the day after":                    {"22:00-08:00", at(16, 12, 0), at(15, 22, 0), at(16, 8, 0)},
		"a night within a day":             {"01:00-06:00", at(16, 3, 0), at(16, 1, 0), at(16, 6, 0)},
	} {
		t.Run(rule, func(t *testing.T) {
			begins, ends := Notify{DigestAt: c.when}.LastNight(c.now)
			require.Equal(t, c.begins, begins)
			require.Equal(t, c.ends, ends)
		})
	}
}
