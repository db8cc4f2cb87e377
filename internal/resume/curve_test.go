package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

func TestHowLongEachWaitIs(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	outage, _ := backoff.Named("outage")
	rules := Rules{Backoff: backoff.Default(), ByClass: map[limit.Class]backoff.Policy{limit.Overloaded: outage}, Margin: time.Minute}
	waiting := Session{State: Waiting, WaitFrom: now, LimitedAt: now, Limit: limit.Verdict{Class: limit.RateLimit}, Attempts: []Attempt{{N: 1}, {N: 2}}}

	got := rules.Backoffs(waiting)
	require.Equal(t, rules.Backoff.String(), got.Policy)
	require.Len(t, got.Waits, 5)
	require.Equal(t, WaitView{3, 120, 108, 132}, got.Waits[2])
	require.Equal(t, 3, got.Next, "two are behind it")
	require.Nil(t, got.Stated)

	stated := waiting
	stated.Limit = limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: now.Add(time.Hour), Source: limit.Structured}}
	require.Equal(t, now.Add(time.Hour+time.Minute), *rules.Backoffs(stated).Stated, "what the provider named wins")
	stated.State = GaveUp
	require.Nil(t, rules.Backoffs(stated).Stated)

	waiting.Limit.Class = limit.Overloaded
	require.Len(t, rules.Backoffs(waiting).Waits, mostWaits, "a policy that only a time ends has no last wait")
}
