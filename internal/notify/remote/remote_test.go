package remote

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterIsReadAsSecondsAndAsDate(t *testing.T) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		" 7 ":                           7 * time.Second,
		"0":                             0,
		"-5":                            0,
		"soon":                          0,
		"99999999999999999999":          0,
		"Sun, 01 Mar 2026 02:01:30 GMT": 90 * time.Second,
		"Sun, 01 Mar 2026 01:00:00 GMT": 0,
	} {
		require.Equal(t, want, RetryAfter(header, now), header)
	}
}
