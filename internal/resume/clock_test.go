package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// A duration counts from the time of its record. If the clock was set back since then, that time is in
// the future, and the duration counts from now. A time by the provider's own clock stays.
func TestADurationCountsFromNowWhenTheClockIsSetBack(t *testing.T) {
	const wait = 3 * time.Hour
	for _, counted := range []bool{true, false} {
		ahead, want := 5*24*time.Hour, wait
		if !counted {
			want += ahead
		}
		then := noon.Add(ahead)
		ev := Limited{At: then, Verdict: limit.Verdict{
			Class: limit.RateLimit, WaitHelps: true, Reset: limit.Reset{At: then.Add(wait), Source: limit.Words, Counted: counted},
		}}
		readAfterwards := Session{}.Next(ev, defaultRules(), noon, 0)
		require.Equal(t, Waiting, readAfterwards.State)
		require.Equal(t, want, readAfterwards.Limit.Reset.At.Sub(noon))

		readBefore := Session{}.Next(ev, defaultRules(), then, 0).Next(Rewound{}, defaultRules(), noon, 0)
		require.Equal(t, Waiting, readBefore.State)
		require.Equal(t, want, readBefore.Limit.Reset.At.Sub(noon))
		require.Equal(t, readAfterwards.NextAt, readBefore.NextAt)
	}
}
