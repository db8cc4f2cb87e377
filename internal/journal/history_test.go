package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/resume/sentence"
	"resumed/internal/resume/view"
	"resumed/internal/state"
)

func notables(changes []resume.Change) []string {
	j := New(Options{}, nil)
	var all []string
	for _, c := range changes {
		if j.notable(c) {
			all = append(all, c.After.State.String()+": "+sentence.Of(c.After))
		}
	}
	return all
}

// A session that a person has open is tried every minute, all night: that is one line in history and
// log, not hundreds.
func TestAHoldIsOneDecisionHoweverOftenItIsMade(t *testing.T) {
	held := func(mark, why string) resume.NotSent { return resume.NotSent{Mark: mark, Why: why} }
	got := notables(story(
		rateLimited(),
		resume.Due{Mark: "1"}, held("1", "process 7 holds the session"),
		resume.Due{Mark: "2"}, held("2", "process 7 holds the session"),
		resume.Due{Mark: "3"}, held("3", "process 7 holds the session"),
		resume.HeldBack{Why: resume.Because(resume.WhyPaused)},
		resume.Due{Mark: "4"}, held("4", "process 8 holds the session"),
		resume.HeldBack{Why: resume.Because(resume.WhyPaused)},
		resume.Due{Mark: "5"}, resume.Sending{Mark: "5"}, started("5"),
	))
	require.Equal(t, []string{
		"waiting: rate limit: slow down",
		"waiting: process 7 holds the session",
		"waiting: due, but resumed is paused",
		"waiting: process 8 holds the session",
		"resuming: rate limit: slow down",
	}, got)
}

// A person who asks again gets a new line.
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
	got := notables(story(rateLimited(), resume.HeldBack{Why: resume.Because(resume.WhyPaused)}, resume.HeldBack{Why: resume.Because(resume.WhyPaused)}))
	require.Equal(t, []string{"waiting: rate limit: slow down", "waiting: due, but resumed is paused"}, got)
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

// A prompt that is about to be handed to a live process may still be held back, and a session that has
// moved needs no notice about the resume that moved it.
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
		rateLimited(), // its record is read after the end of the attempt: still the same attempt
		resume.Due{Mark: "2"}, started("2"), resume.Ended{Mark: "2", Outcome: resume.Delivered},
		resume.Progressed{At: time.Date(2026, 11, 15, 13, 0, 0, 0, time.UTC)},
	) {
		if a := c.Concluded(); a != nil {
			got = append(got, a.Outcome)
		}
	}
	require.Equal(t, []resume.Outcome{resume.Failed, resume.Recovered}, got)
}

// files is a stored history.
type files struct {
	entries []state.Entry
	asked   state.Filter
	err     error // after the entries
}

func (f *files) History(_ context.Context, filter state.Filter) iter.Seq2[state.Entry, error] {
	f.asked = filter
	return func(yield func(state.Entry, error) bool) {
		for _, e := range f.entries {
			if !yield(e, nil) {
				return
			}
		}
		if f.err != nil {
			yield(state.Entry{}, f.err)
		}
	}
}

func (f *files) HistoryKeys(context.Context) ([]resume.Key, error) {
	return []resume.Key{{Agent: "diary", ID: "one-of-a-kind"}}, nil
}

func TestATornLineIsShownAsFarAsItCanBe(t *testing.T) {
	key := resume.Key{Agent: "diary", ID: "a"}
	torn := errors.New("the disk is gone")
	f := &files{err: torn, entries: []state.Entry{
		{At: at(0), Key: key, Kind: "waiting", Data: []byte(`{"from":"watching","to":"waiting","next_at":"2026-11-15T13:00:00+01:00"}`)},
		{At: at(1), Key: key, Kind: "resuming", Data: []byte(`{"from":"waiting","to":"res`)},
		{At: at(2), Key: key, Kind: "settling", Data: []byte(`{"from":"resuming","attempt":"many","to":"settling"}`)},
	}}
	steps, err := History(t.Context(), f, "", at(0), []view.Session{{Agent: "diary", ID: "a", Name: "short"}})
	require.NoError(t, err)
	var got []control.Step
	var last error
	for step, err := range steps {
		if last = err; err == nil {
			got = append(got, step)
		}
	}
	require.ErrorIs(t, last, torn)
	require.Equal(t, state.Filter{Since: at(0)}, f.asked)
	require.Len(t, got, 3)
	require.Equal(t, control.Step{
		Version: 1, At: at(0), Session: "a", Name: "short", Agent: "diary", Kind: "waiting", From: "watching", To: "waiting",
		NextAt: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
	}, got[0])
	require.Equal(t, "resuming", got[1].Kind)
	require.Equal(t, at(1), got[1].At)
	require.Contains(t, got[1].Error, "the line cannot be read: ")
	require.Equal(t, "resuming settling", got[2].From+" "+got[2].To)
	require.Contains(t, got[2].Error, "the line cannot be read: ")
}

func TestAHistoryKnowsSessionsThatNobodyElseRemembers(t *testing.T) {
	for _, name := range []string{"one-of-a-kind", "diary/one-of-a-kind"} {
		f := new(files)
		steps, err := History(t.Context(), f, name, time.Time{}, nil)
		require.NoError(t, err)
		for range steps {
			t.Error("there is none")
		}
		require.Equal(t, resume.Key{Agent: "diary", ID: "one-of-a-kind"}, f.asked.Key)
	}
	_, err := History(t.Context(), new(files), "another", time.Time{}, nil)
	require.ErrorIs(t, err, resume.ErrNoSession)
}

func TestWhatConcernsTheDaemonIsOfNoSession(t *testing.T) {
	l := new(ledger)
	New(l.options(), nil).Note(Paused, "ordered by you")
	require.Len(t, l.entries, 1)
	require.Equal(t, resume.Key{}, l.entries[0].Key)
	require.Equal(t, Paused, l.entries[0].Kind)
	require.Equal(t, "ordered by you", show(l.entries[0], view.Session{}).Reason)
}

// Reasons that change at each try must not fill a disk.
func TestTheReasonsToldOfOneHoldAreBounded(t *testing.T) {
	events := []resume.Event{rateLimited()}
	for i := range 500 {
		mark := fmt.Sprint(i)
		events = append(events, resume.Due{Mark: mark}, resume.NotSent{Mark: mark, Why: "process " + mark + " holds the session"})
	}
	require.Len(t, notables(story(events...)), 1+mostReasons)
}
