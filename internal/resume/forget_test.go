package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A transcript may stay unread only if its session would be forgotten at once and no refusal in it
// could matter.
func TestOldTranscriptsAreLeftUnread(t *testing.T) {
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		rules Rules
		age   time.Duration // 0: none is old enough
	}{
		"nothing is forgotten":              {Rules{Lookback: day}, 0},
		"a month's window may yet return":   {Rules{KeepQuiet: day, Lookback: 6 * time.Hour}, 31*day + 6*time.Hour},
		"a longer wait is waited for":       {Rules{KeepQuiet: day, MaxWait: 60 * day, Lookback: day}, 61 * day},
		"a session is remembered so long":   {Rules{KeepQuiet: 90 * day, MaxWait: 8 * day}, 90 * day},
		"a lookback of half a year is kept": {Rules{KeepQuiet: day, Lookback: 180 * day}, 211 * day},
	} {
		want := time.Time{}
		if c.age > 0 {
			want = now.Add(-c.age)
		}
		require.Equal(t, want, c.rules.ReadSince(now), name)
	}
}
