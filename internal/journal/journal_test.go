package journal

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/notify"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// at is a time in a story: ten minutes pass between two events.
func at(n int) time.Time {
	return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * 10 * time.Minute)
}

// The changes that a person may want to know, each reported once.
func TestWhatPeopleAreTold(t *testing.T) {
	limited := rateLimited()
	cannotWait := limited
	cannotWait.WaitHelps = false
	due := resume.Due{Mark: "1"}
	handing := resume.Started{Mark: "1", Process: resume.Process{PID: 42}, Unverifiable: true}
	delivered := resume.Ended{Mark: "1", Outcome: resume.Delivered}
	failed := func(mark string) []resume.Event {
		return []resume.Event{resume.Due{Mark: mark}, started(mark), resume.Ended{Mark: mark, Outcome: resume.Failed, Err: "exit status 1"}}
	}
	hopeless := []resume.Event{limited}
	gaveUp := []notify.Event{notify.Limited}
	for n := range config.Default().Rules().Backoff.MaxRetries {
		hopeless = append(hopeless, failed(fmt.Sprint(n))...)
		gaveUp = append(gaveUp, notify.Retrying)
	}
	gaveUp = append(gaveUp, notify.GaveUp)
	held := resume.NotSent{Mark: "1", Why: "process 7 holds the session", Then: resume.Tell, Owner: &resume.Owner{PID: 7}}

	for name, c := range map[string]struct {
		events []resume.Event
		want   []notify.Event
	}{
		"works":      {[]resume.Event{resume.Prompted{At: at(0)}, resume.Progressed{At: at(1)}}, nil},
		"is stopped": {[]resume.Event{limited, limited, resume.HeldBack{Why: resume.Because(resume.WhyPaused)}}, []notify.Event{notify.Limited}},
		"is resumed and moves": {
			[]resume.Event{limited, due, resume.Sending{Mark: "1"}, started("1"), resume.Progressed{At: at(4)}, delivered},
			[]notify.Event{notify.Limited, notify.Retrying, notify.Recovered},
		},
		"moves before the start is known": {
			[]resume.Event{limited, due, resume.Sending{Mark: "1"}, resume.Progressed{At: at(3)}, started("1")},
			[]notify.Event{notify.Limited, notify.Recovered, notify.Retrying},
		},
		"is stopped again": {
			[]resume.Event{limited, due, started("1"), limited},
			[]notify.Event{notify.Limited, notify.Retrying},
		},
		"is handed to a live process": {
			[]resume.Event{limited, due, handing, delivered},
			[]notify.Event{notify.Limited, notify.Retrying},
		},
		"is continued by a person": {
			[]resume.Event{limited, resume.Prompted{At: at(1)}, resume.Progressed{At: at(2)}},
			[]notify.Event{notify.Limited, notify.Recovered},
		},
		"is continued by a person in vain": {
			[]resume.Event{limited, resume.Prompted{At: at(1)}, limited},
			[]notify.Event{notify.Limited, notify.Limited},
		},
		"is cancelled": {
			[]resume.Event{limited, resume.Forget{}, resume.Retry{}, resume.Forget{}, resume.Progressed{At: at(5)}},
			[]notify.Event{notify.Limited},
		},
		"is stopped by a person": {[]resume.Event{limited, resume.Cancelled{At: at(1)}}, []notify.Event{notify.Limited}},
		"is out of retries":      {hopeless, gaveUp},
		"is long out of them":    {slices.Concat(hopeless, []resume.Event{resume.Expired{}}), gaveUp},
		"is parked for long":     {[]resume.Event{cannotWait, resume.Expired{}}, []notify.Event{notify.Parked}},
		"cannot be waited out":   {[]resume.Event{cannotWait}, []notify.Event{notify.Parked}},
		"nobody knows what became of it": {
			[]resume.Event{limited, due, handing, resume.Ended{Mark: "1", Outcome: resume.Unknown, Err: "nobody knows"}},
			[]notify.Event{notify.Limited, notify.Parked},
		},
		"is held back by what a person should know": {
			[]resume.Event{limited, due, held, due, held},
			[]notify.Event{notify.Limited, notify.Parked},
		},
		"is only held back": {
			[]resume.Event{limited, due, resume.NotSent{Mark: "1", Why: "not now"}},
			[]notify.Event{notify.Limited},
		},
		"is paused": {[]resume.Event{limited, resume.Pause{}, resume.Unpause{}}, []notify.Event{notify.Limited}},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(ledger)
			tell(l, story(c.events...)...)
			require.Equal(t, append([]notify.Event{}, c.want...), l.events())
		})
	}
}

func TestNobodyIsToldWhereThereIsNoWay(t *testing.T) {
	l := new(ledger)
	opts := l.options()
	opts.Tell = nil
	j := New(opts, []resume.Session{{State: resume.GaveUp}})
	for _, c := range story(rateLimited()) {
		j.Changed(c)
	}
	require.Equal(t, []string{"put a waiting"}, l.store)
}

// A notice shows the attempts, also if the session has moved by then.
func TestANoticeShowsTheAttempts(t *testing.T) {
	l := new(ledger)
	tell(l, story(rateLimited(), resume.Due{Mark: "1"}, resume.Sending{Mark: "1"}, resume.Progressed{At: at(3)}, started("1"))...)
	require.Equal(t, []notify.Event{notify.Limited, notify.Recovered, notify.Retrying}, l.events())
	for _, n := range l.told[1:] {
		require.Len(t, n.session.Attempts, 1)
		require.Equal(t, resume.Recovered, n.session.Attempts[0].Outcome)
	}
}

func TestEveryDecisionIsOneLineOfTheHistoryAndTheLog(t *testing.T) {
	l := new(ledger)
	handing := resume.Started{Mark: "3", Process: resume.Process{PID: 43}, Unverifiable: true}
	tell(l, story(
		rateLimited(),
		resume.Due{Mark: "1"}, resume.Sending{Mark: "1"}, started("1"), resume.Ended{Mark: "1", Outcome: resume.Failed, Err: "exit status 1"},
		resume.Due{Mark: "2"}, resume.NotSent{Mark: "2", Why: "a person types"},
		resume.Pause{}, resume.Unpause{},
		resume.Due{Mark: "3"}, handing, resume.Ended{Mark: "3", Outcome: resume.Delivered},
		resume.Progressed{At: at(12)},
		resume.Progressed{At: at(13)},
	)...)
	require.Equal(t, []string{
		"waiting: watching to waiting, rate_limit, rate limit: slow down",
		"resuming: waiting to resuming, rate_limit, the wait is over: resume 1 runs as process 42",
		"waiting: resuming to waiting, rate_limit, failed, exit status 1, exit status 1; stopped by rate limit: slow down",
		"waiting: resuming to waiting, rate_limit, a person types",
		"paused: waiting to waiting, rate_limit, a person types",
		"unpaused: waiting to waiting, rate_limit, a person types",
		"resuming: waiting to resuming, rate_limit, the wait is over: resume 2 is handed to process 43",
		"settling: resuming to settling, rate_limit, the resume was delivered: now the transcript must move",
		"watching: settling to watching, recovered, works again after 2 resumes",
	}, l.history(t))
	require.Equal(t, []string{
		"level=INFO msg=waiting",
		"level=INFO msg=waiting",
		"level=INFO msg=waiting",
		`level=INFO msg="watching again"`,
	}, l.lines())
	require.Equal(t, resume.Key{Agent: "diary", ID: "a"}, l.entries[0].Key)
	require.Equal(t, at(0), l.entries[0].At)
}

// A quick agent has moved before its start is known.
func TestAStartThatIsKnownLateIsALineOfItsOwn(t *testing.T) {
	l := new(ledger)
	tell(l, story(rateLimited(), resume.Due{Mark: "1"}, resume.Sending{Mark: "1"}, resume.Progressed{At: at(3)}, started("1"))...)
	require.Equal(t, []string{
		"waiting: watching to waiting, rate_limit, rate limit: slow down",
		"watching: resuming to watching, recovered, works again after 1 resume",
		"resuming: waiting to resuming, the wait is over: resume 1 runs as process 42",
	}, l.history(t))
	require.Equal(t, 1, show(l.entries[2], view.Session{}).Attempt)
}

func TestTheLogSaysWhatNeedsAPerson(t *testing.T) {
	parked := rateLimited()
	parked.WaitHelps = false
	held := resume.NotSent{Mark: "1", Why: "process 7 holds the session", Then: resume.Tell}
	for want, events := range map[string][]resume.Event{
		`level=WARN msg="parked: needs a person"`:      {parked},
		`level=WARN msg="waiting, but needs a person"`: {rateLimited(), resume.Due{Mark: "1"}, held},
	} {
		l := new(ledger)
		tell(l, story(events...)...)
		lines := l.lines()
		require.Equal(t, want, lines[len(lines)-1])
	}
}

// It will be found again in its file.
func TestASessionThatWasNeverInterruptedLeavesNothingOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		f := control.Follow(audience{changes: &l.changes}, true)
		defer f.Leave()
		heard(f) // all, at first
		changes := story(resume.Prompted{At: at(0)}, resume.Progressed{At: at(1)}, resume.Progressed{At: at(2)}, resume.Cancelled{At: at(3)})
		tell(l, changes[0])
		require.Equal(t, []resume.Key{changes[0].After.Key}, heard(f), "who watches sees that it is there")
		tell(l, changes[1:3]...)
		require.Empty(t, heard(f), "and not every word of it")
		tell(l, changes[3])
		require.NotEmpty(t, heard(f))
		require.Empty(t, l.store)
		require.Empty(t, l.entries)
		require.Empty(t, l.told)
		require.Empty(t, l.log.String())
	})
}

// An interruption that gets no wait is only recorded in the history.
func TestAnInterruptionThatIsLeftAloneIsALineOfTheHistory(t *testing.T) {
	l := new(ledger)
	old := rateLimited()
	old.At, old.First = at(0).Add(-100*time.Hour), true
	tell(l, story(old, old)...)
	require.Equal(t, []string{
		"left: watching to watching, rate_limit, its interruption was older than resume.lookback when it was first seen",
	}, l.history(t))
	require.Empty(t, l.store)
	require.Empty(t, l.told)
}

func TestWhatIsPutAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		f := control.Follow(audience{changes: &l.changes}, false)
		defer f.Leave()
		heard(f)
		changes := story(rateLimited(), resume.Due{Mark: "1"}, resume.NotSent{Mark: "1", Why: "not now"}, resume.Progressed{At: at(3)}, resume.Progressed{At: at(4)})
		j := New(l.options(), nil)
		for _, c := range changes {
			j.Changed(c)
		}
		require.Equal(t, []string{"put a waiting", "put a resuming", "put a waiting", "put a watching"}, l.store,
			"a claim is on disk too; that it works on need not be")
		require.Equal(t, []resume.Key{changes[0].After.Key}, heard(f))

		last := changes[len(changes)-1].After
		lines := len(l.entries)
		j.held.first(last.Key, "a person types")
		j.Changed(resume.Change{At: at(200), Before: last, After: last, Dropped: true})
		require.Equal(t, "drop a", l.store[len(l.store)-1])
		require.Equal(t, []resume.Key{last.Key}, heard(f))
		require.Len(t, l.entries, lines, "nothing happened to it")
		require.Empty(t, j.held, "what is gone is not remembered")
	})
}

// The daemon before may have been killed between decision and notice; the notifier skips notices that
// it already has.
func TestAStartTellsAgainWhatAPersonMustSee(t *testing.T) {
	l := new(ledger)
	owner := &resume.Owner{PID: 7}
	session := func(id string, s resume.Session) resume.Session {
		s.Key = resume.Key{Agent: "diary", ID: id}
		return s
	}
	New(l.options(), []resume.Session{
		session("works", resume.Session{State: resume.Watching}),
		session("waits", resume.Session{State: resume.Waiting}),
		session("waits for who holds it", resume.Session{State: resume.Waiting, Interruption: resume.Interruption{Owner: owner}}),
		session("waits for who should know", resume.Session{State: resume.Waiting, Interruption: resume.Interruption{Owner: owner, Reported: true}}),
		session("waits where nobody can be seen", resume.Session{State: resume.Waiting, Interruption: resume.Interruption{Reported: true}}),
		session("runs", resume.Session{State: resume.Resuming}),
		session("settles", resume.Session{State: resume.Settling}),
		session("gave up", resume.Session{State: resume.GaveUp}),
		session("parked", resume.Session{State: resume.Parked}),
	})
	told := make(map[string]notify.Event)
	for _, n := range l.told {
		told[n.session.Key.ID] = n.event
	}
	require.Equal(t, map[string]notify.Event{
		"waits for who should know": notify.Parked, "waits where nobody can be seen": notify.Parked, "gave up": notify.GaveUp, "parked": notify.Parked,
	}, told)
	require.Len(t, l.told, 4)
	require.Empty(t, l.store, "it is on disk")
	require.Empty(t, l.entries)
}

// The reasons of held back sessions are already in the history of the daemon before.
func TestAStartSaysNotAgainWhyASessionIsHeldBack(t *testing.T) {
	changes := story(rateLimited(), resume.Due{Mark: "1"}, resume.NotSent{Mark: "1", Why: "a person types"},
		resume.Due{Mark: "2"}, resume.NotSent{Mark: "2", Why: "a person types"},
		resume.Due{Mark: "3"}, resume.NotSent{Mark: "3", Why: "a person thinks"})
	l := new(ledger)
	j := New(l.options(), []resume.Session{changes[2].After})
	for _, c := range changes[3:] {
		j.Changed(c)
	}
	require.Equal(t, []string{"waiting: resuming to waiting, rate_limit, a person thinks"}, l.history(t))
}
