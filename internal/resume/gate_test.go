package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestWhoHeedsALimitOfAnotherHost(t *testing.T) {
	now := time.Now()
	stated := Session{Interruption: Interruption{Limit: limit.Verdict{Class: limit.UsageLimit, Reset: limit.Reset{At: now}}}}
	require.True(t, stated.WaitsForFleet(now.Add(near), now))
	require.False(t, stated.WaitsForFleet(now.Add(near+1), now), "it may be of a model that the session does not use")
	require.True(t, Session{Interruption: Interruption{Limit: limit.Verdict{Class: limit.UsageLimit}}}.WaitsForFleet(now.Add(100*near), now))
	asked := stated
	asked.RetryAskedAt = now
	require.False(t, asked.WaitsForFleet(now.Add(1), now), "a person who asks gets a try")
}
