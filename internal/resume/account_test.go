package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestHowAnAccountIsNamed(t *testing.T) {
	s := Session{Account: "opencode:default", Provider: "anthropic"}
	require.Equal(t, "opencode:default (anthropic)", s.AccountKey().String())
	s.Provider = ""
	require.Equal(t, "opencode:default", s.AccountKey().String())
}

func TestWhoWaitsForAWindowOfAnotherSession(t *testing.T) {
	stopped := func(c limit.Class, reset time.Time) Session {
		return Session{Interruption: Interruption{Limit: limit.Verdict{Class: c, Reset: limit.Reset{At: reset}}}}
	}
	asked := stopped(limit.UsageLimit, time.Time{})
	asked.RetryAskedAt = noon
	for name, c := range map[string]struct {
		s         Session
		soon, far bool
	}{
		"one that knows its own time":       {stopped(limit.UsageLimit, noon), false, false},
		"a rate limit with a time":          {stopped(limit.RateLimit, noon), false, false},
		"one that a person asked for":       {asked, false, false},
		"a usage limit without a time":      {stopped(limit.UsageLimit, time.Time{}), true, true},
		"a task":                            {Session{Task: &Task{}}, true, true},
		"a rate limit without a time":       {stopped(limit.RateLimit, time.Time{}), true, false},
		"an overload, whatever it was told": {stopped(limit.Overloaded, noon), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			shared := c.s.SharedLimit()
			require.Equal(t, c.soon, shared.HoldsBack(noon.Add(near), noon))
			require.Equal(t, c.far, shared.HoldsBack(noon.Add(near+1), noon))
			require.False(t, shared.HoldsBack(time.Time{}, noon), "no window is known")
		})
	}
}

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

// A window that another session of the account was told of.
func TestAWaitFollowsTheNewsOfItsAccount(t *testing.T) {
	stopped := func() *walk { return newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(3*time.Hour))) }
	until := func(at time.Time) Postponed { return Postponed{Reset: limit.Reset{At: at, Source: limit.Structured}} }

	w := stopped().do(until(noon.Add(time.Hour)))
	require.Equal(t, noon.Add(time.Hour+time.Minute), w.NextAt)
	require.Equal(t, "its limit resets before 2026-11-15T15:00:00Z: another session of the same account was told so", w.Reason)
	w = stopped().do(until(noon.Add(5 * time.Hour)))
	require.Equal(t, noon.Add(5*time.Hour+time.Minute), w.NextAt)
	require.NotContains(t, w.Reason, "another session")
	w = stopped().do(Retry{}, until(noon.Add(5*time.Hour)))
	require.Equal(t, noon, w.NextAt, "a person asked for a try now")
	w = newWalk().do(until(noon.Add(time.Hour)))
	require.True(t, w.NextAt.IsZero(), "it does not wait")
	w = stopped()
	w.rules.MaxWait = 4 * time.Hour
	w.do(until(noon.Add(5 * time.Hour)))
	require.NotEqual(t, Waiting, w.State)
	require.NotContains(t, w.Reason, "another session")

	over := Lifted{At: noon.Add(time.Hour), By: Key{"claude-code", "b"}}
	w = stopped().after(time.Hour).do(over)
	require.Equal(t, over.At.Add(time.Minute), w.NextAt)
	require.Equal(t, "its limit was over before the reset at 2026-11-15T15:00:00Z: session b of the same account works again", w.Reason)
	again := w.Session
	w.after(time.Hour).do(Lifted{At: w.now, By: Key{"claude-code", "c"}})
	require.Equal(t, again, w.Session, "it is known")
	for name, w := range map[string]*walk{
		"a session that was not stopped":        newWalk().do(Prompted{At: noon}),
		"one that a person asked for":           stopped().do(Retry{}),
		"one that was refused after the others": newWalk().after(time.Hour).do(limitedUntil(over.At, limit.UsageLimit, over.At.Add(time.Hour))),
		"one that a person is asked about":      newWalk().do(limited(noon, limit.Auth)),
	} {
		before := w.Session
		require.Equal(t, before, w.after(time.Hour).do(over).Session, name)
	}
}
