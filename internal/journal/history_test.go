package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// story applies events to a session, one a minute, and returns the changes.
func story(events ...resume.Event) []resume.Change {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	rules := resume.DefaultRules()
	rules.Backoff.Jitter = false
	var s resume.Session
	var changes []resume.Change
	for _, ev := range events {
		if limited, ok := ev.(resume.Limited); ok && limited.At.IsZero() {
			limited.At = now
			ev = limited
		}
		after := s.Next(ev, rules, now, 0.5)
		changes = append(changes, resume.Change{At: now, Event: ev, Before: s, After: after})
		s = after
		now = now.Add(time.Minute)
	}
	return changes
}

func notables(changes []resume.Change) []string {
	j := New(Options{}, nil)
	var all []string
	for _, c := range changes {
		if j.notable(c) {
			all = append(all, c.After.State.String()+": "+c.After.Reason)
		}
	}
	return all
}

func rateLimited() resume.Limited {
	return resume.Limited{Verdict: limit.Verdict{Class: limit.RateLimit, WaitHelps: true}, Text: "slow down"}
}

func started(mark string) resume.Started {
	return resume.Started{Mark: mark, Process: resume.Process{PID: 42}}
}

// A session that a person has open is looked at every minute, all night: that
// is one line in history and log, not hundreds.
func TestAHoldIsOneDecisionHoweverOftenItIsMade(t *testing.T) {
	held := func(mark, why string) resume.NotSent { return resume.NotSent{Mark: mark, Why: why} }
	got := notables(story(
		rateLimited(),
		resume.Due{Mark: "1"}, held("1", "process 7 holds the session"),
		resume.Due{Mark: "2"}, held("2", "process 7 holds the session"),
		resume.Due{Mark: "3"}, held("3", "process 7 holds the session"),
		resume.Queued{Why: "due, but paused"},
		resume.Due{Mark: "4"}, held("4", "process 8 holds the session"),
		resume.Queued{Why: "due, but paused"},
		resume.Due{Mark: "5"}, resume.Sending{Mark: "5"}, started("5"),
	))
	require.Equal(t, []string{
		"waiting: rate limit: slow down",
		"waiting: process 7 holds the session",
		"waiting: due, but paused",
		"waiting: process 8 holds the session",
		"resuming: rate limit: slow down",
	}, got)
}

// A person who asks again is told again.
func TestAHoldIsSaidAgainAfterARetry(t *testing.T) {
	held := func(mark string) resume.NotSent {
		return resume.NotSent{Mark: mark, Why: "process 7 holds the session"}
	}
	got := notables(story(rateLimited(), resume.Due{Mark: "1"}, held("1"), resume.Retry{}, resume.Due{Mark: "2"}, held("2")))
	require.Equal(t, []string{
		"waiting: rate limit: slow down",
		"waiting: process 7 holds the session",
		"waiting: due now, asked for by you",
		"waiting: process 7 holds the session",
	}, got)
}

func TestAQueuedWaitIsOneDecision(t *testing.T) {
	got := notables(story(rateLimited(), resume.Queued{Why: "due, but paused"}, resume.Queued{Why: "due, but paused"}))
	require.Equal(t, []string{"waiting: rate limit: slow down", "waiting: due, but paused"}, got)
}

func TestAResumeIsSentWhenItsCommandRunsOrWasTyped(t *testing.T) {
	count := func(events ...resume.Event) int {
		n := 0
		for _, c := range story(events...) {
			if c.Sent() {
				n++
			}
		}
		return n
	}
	delivered := resume.Ended{Mark: "1", Outcome: resume.Delivered}
	require.Equal(t, 0, count(rateLimited(), resume.Due{Mark: "1"}, resume.NotSent{Mark: "1", Why: "not now"}))
	require.Equal(t, 1, count(rateLimited(), resume.Due{Mark: "1"}, started("1"), started("1"), delivered))
	require.Equal(t, 1, count(rateLimited(), resume.Due{Mark: "1"}, delivered), "without a process of its own")
}

// A prompt that is about to be handed to a live process may still be held back,
// and a session that has moved needs no word of the resume that moved it.
func TestARetryIsToldOnceItReachedTheAgent(t *testing.T) {
	told := func(events ...resume.Event) (kinds []string) {
		for _, c := range story(append([]resume.Event{rateLimited(), resume.Due{Mark: "1"}}, events...)...) {
			if c.Given() {
				kinds = append(kinds, fmt.Sprintf("%T", c.Event))
			}
		}
		return kinds
	}
	handing := resume.Started{Mark: "1", Process: resume.Process{PID: 42}, Unverifiable: true}
	delivered := resume.Ended{Mark: "1", Outcome: resume.Delivered}
	moved := resume.Progressed{At: time.Date(2026, 11, 15, 12, 3, 0, 0, time.UTC)}
	require.Equal(t, []string{"resume.Started"}, told(started("1"), delivered))
	require.Equal(t, []string{"resume.Ended"}, told(handing, delivered))
	require.Equal(t, []string{"resume.Ended"}, told(resume.Started{Mark: "1", Unverifiable: true}, delivered))
	require.Empty(t, told(handing, resume.NotSent{Mark: "1", Why: "a draft stands there"}))
	require.Empty(t, told(resume.NotSent{Mark: "1", Why: "process 7 holds the session"}))
	require.Empty(t, told(handing, resume.Ended{Mark: "1", Outcome: resume.Unknown, Err: "nobody knows"}))
	require.Empty(t, told(handing, moved, delivered))
}

func TestAnOutcomeIsConcludedOnce(t *testing.T) {
	var got []resume.Outcome
	for _, c := range story(
		rateLimited(),
		resume.Due{Mark: "1"}, started("1"), resume.Ended{Mark: "1", Outcome: resume.Failed, Err: "exit status 1"},
		rateLimited(), // its record is read after its end: the same attempt
		resume.Due{Mark: "2"}, started("2"), resume.Ended{Mark: "2", Outcome: resume.Delivered},
		resume.Progressed{At: time.Date(2026, 11, 15, 13, 0, 0, 0, time.UTC)},
	) {
		if a := c.Concluded(); a != nil {
			got = append(got, a.Outcome)
		}
	}
	require.Equal(t, []resume.Outcome{resume.Failed, resume.Recovered}, got)
}
