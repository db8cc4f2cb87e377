package when

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit/token"
)

// states reports whether s could state a time at all.
func states(s string) bool {
	if strings.ContainsAny(s, "0123456789") {
		return true
	}
	for _, t := range token.Cut(s) {
		_, weekday := weekdays[t.Text]
		_, ahead := daysAhead[t.Text]
		if weekday || ahead || midnights[t.Text] || numbers[t.Text] != 0 || slices.Contains([]string{"noon", "half", "через", "reset", "resets"}, t.Text) {
			return true
		}
	}
	return false
}

var noon = Reader{At: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), Zone: time.UTC, Grace: 2 * time.Hour}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{
		"2s", "in 3 hours", "15:00", "3pm (Europe/Berlin)", "Nov 18, 3:13am (UTC)", "2026-11-15T15:00:00Z", "1794708893",
		"Sun, 15 Nov 2026 14:01:33 GMT", "Monday", "10 de jul. de 2026, 11:52", "on 05/01", "15:00 GMT-03:30", "(Etc/GMT+5", "P1DT2H", "PT36.5S",
		"2h30", "half an hour", "an hour and a half", "à 15h30", "01.12.2026 um 09:00", "2026年8月25日 07:41", "下午3点30分", "через час", "3 hours ago", "15:00 UTC−03:30",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		reset, ok := noon.When(s)
		require.Equal(t, ok, !reset.At.IsZero())
		if ok {
			require.True(t, states(s), "%q was read as %v", s, reset.At)
			require.Less(t, reset.At.Sub(noon.At).Abs(), 250*366*24*time.Hour)
		}
	})
}
