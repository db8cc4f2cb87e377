package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/backoff"
	"resumed/internal/limit"
)

func TestStoppedSubagents(t *testing.T) {
	now := time.Date(2026, 11, 17, 15, 0, 0, 0, time.UTC)
	step := func(s Session, ev Event) Session { return s.Next(ev, Rules{Backoff: backoff.Default()}, now, 0) }
	sub := func(id string, at time.Time) Subagent {
		return Subagent{ID: id, Kind: "Explore", About: "Look at " + id, Class: limit.UsageLimit, At: at, Reset: now.Add(time.Hour)}
	}
	learned := func(subs ...Subagent) Learned { return Learned{Subagents: &subs} }
	works := step(Session{Key: Key{Agent: "claude-code", ID: "a"}}, Prompted{At: now.Add(-time.Hour)})

	told := step(works, learned(sub("one", now), sub("two", now)))
	require.Equal(t, Watching, told.State, "the session itself is not resumed")
	require.True(t, told.Deadline().IsZero())
	require.Equal(t, Because(WhySubagents), told.Reason)
	require.Len(t, told.Subagents, 2)
	require.True(t, Change{Before: works, After: told}.NeedsPerson(), "a person is told")
	require.True(t, told.WorthKeeping(), "and status shows it")

	again := step(told, learned(sub("one", now), sub("two", now), sub("three", now)))
	require.False(t, Change{Before: told, After: again}.NeedsPerson(), "once")
	require.Len(t, again.Subagents, 3)

	went := step(again, Progressed{At: now})
	require.Len(t, went.Subagents, 3, "the session goes on without them")
	for rule, ev := range map[string]Event{
		"a person goes on":    Prompted{At: now.Add(time.Second)},
		"a person cancels it": Forget{},
		"they continued":      learned(),
	} {
		after := step(went, ev)
		require.Empty(t, after.Subagents, rule)
		require.False(t, after.Reported, rule)
		require.NotEqual(t, WhySubagents, after.Reason.Kind, rule)
	}

	old := step(works, learned(sub("one", now.Add(-2*time.Hour))))
	require.Empty(t, old.Subagents, "it was stopped before the last prompt")
	require.False(t, old.Reported)

	limited := step(told, Limited{At: now, Verdict: limit.Verdict{Class: limit.UsageLimit, WaitHelps: true, Reset: limit.Reset{At: now.Add(time.Hour)}}})
	require.Equal(t, Waiting, limited.State)
	require.Len(t, limited.Subagents, 2, "its resume can say so")
	require.False(t, limited.Reported, "what is reported of a wait is new")
	waits := step(limited, learned(sub("one", now)))
	require.Equal(t, limited.Reason, waits.Reason, "a session that waits is resumed anyway")
	require.Empty(t, step(waits, Progressed{At: now.Add(time.Second)}).Subagents)
}
