package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestHowLongEachWaitIs(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	outage, _ := backoff.Named("outage")
	rules := resume.Rules{Backoff: backoff.Default(), ByClass: map[limit.Class]resume.Policy{limit.Overloaded: {Name: "outage", Policy: outage}}, Margin: time.Minute}
	waiting := resume.Session{State: resume.Waiting, LimitedAt: now, Interruption: resume.Interruption{WaitFrom: now, Limit: limit.Verdict{Class: limit.RateLimit}, Attempts: []resume.Attempt{{N: 1}, {N: 2}}}}

	got := BackoffOf(rules, waiting)
	require.Equal(t, "default: "+rules.Backoff.String(), got.Policy)
	require.Len(t, got.Waits, 5)
	require.Equal(t, Wait{3, 120, 108, 132}, got.Waits[2])
	require.Equal(t, 3, got.Next, "two are behind it")
	require.Nil(t, got.Stated)

	stated := waiting
	stated.Limit = limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: now.Add(time.Hour), Source: limit.Structured}}
	require.Equal(t, now.Add(time.Hour+time.Minute), *BackoffOf(rules, stated).Stated, "what the provider named wins")
	stated.State = resume.GaveUp
	require.Nil(t, BackoffOf(rules, stated).Stated)

	waiting.Limit.Class = limit.Overloaded
	require.Len(t, BackoffOf(rules, waiting).Waits, mostWaits, "a policy that only a time ends has no last wait")
}
