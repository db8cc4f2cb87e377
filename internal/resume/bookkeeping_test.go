package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

const far = 300 * time.Hour // is further away than max_wait

// A person's order is carried out, whatever is read of the limit until then.
func TestAnOrderHoldsUntilItIsCarriedOut(t *testing.T) {
	ordered := func() *walk {
		return newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(3*time.Hour))).after(time.Minute).do(Retry{})
	}
	for name, ev := range map[string]Event{
		"another session gets a later reset": Postponed{Reset: limit.Reset{At: noon.Add(far), Source: limit.Structured}},
		"the refusal is read again":          limitedUntil(noon.Add(time.Second), limit.UsageLimit, noon.Add(far)),
	} {
		w := ordered()
		before := w.Session
		w.do(ev)
		require.Equal(t, []any{Waiting, before.NextAt, before.Reason}, []any{w.State, w.NextAt, w.Reason}, name)
	}
	w := ordered().do(Due{Mark: "m"}, Started{Mark: "m", Unverifiable: true})
	require.False(t, w.RetryAskedAt.IsZero(), "the prompt may still be refused")
	w.do(Ended{Mark: "m", Outcome: Delivered})
	require.True(t, w.RetryAskedAt.IsZero(), "the next limit is waited for")

	task := newTask().do(Retry{})
	task.Task.NotBefore = noon.Add(time.Hour)
	require.Equal(t, noon.Add(time.Hour), task.do(Enqueued{}).NextAt, "a task that its user changes waits for its new time")
}

// What has parked a session parks it again only after the order was carried out.
func TestAnOrderIsNotLostWhileItsSessionIsHeldBack(t *testing.T) {
	for stopped, ev := range map[string]Limited{
		"signed out":         limited(noon, limit.Auth),
		"no credits":         limited(noon, limit.Billing),
		"reset too far away": limitedUntil(noon, limit.UsageLimit, noon.Add(far)),
	} {
		old := ev
		old.At = noon.Add(-48 * time.Hour)
		for happens, events := range map[string][]Event{
			"a refusal of days ago": {Due{Mark: "a"}, old},
			"a reload or a restart": {Reconsider{}},
			"the clock is set back": {Rewound{}},
			"a reading of usage":    {Learned{Usage: &Usage{At: noon}}},
			"a try that must wait":  {Due{Mark: "a"}, NotSent{Mark: "a", Why: "a person works there"}},
			"a claim that is lost":  {Due{Mark: "a"}, Lost{Mark: "a"}},
			"a pause":               {Due{Mark: "a"}, Pause{}, Unpause{}},
		} {
			w := newWalk().do(ev)
			w.rules.Overdue = 24 * time.Hour
			require.Equal(t, Parked, w.State)
			w.do(Retry{}).do(events...)
			require.Equal(t, Waiting, w.State, "%s, %s: %s", stopped, happens, w.Reason)
			require.False(t, w.RetryAskedAt.IsZero())
			require.Empty(t, w.Overdue(noon))
			w.resume().end(Failed)
			require.Equal(t, Parked, w.State, "one try was asked for")
		}
	}
}

func TestAnOrderKeepsToTheHours(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded))
	w.rules.NextAllowed = func(at time.Time) time.Time { return at.Add(8 * time.Hour) }
	require.Equal(t, noon.Add(8*time.Hour), w.do(Retry{}).NextAt)
}

// The first session after a limit that seemed to be over meets it again.
func TestALimitThatIsNotOverIsWaitedFor(t *testing.T) {
	reset := noon.Add(3 * time.Hour)
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset)).after(time.Hour).do(Lifted{At: noon.Add(time.Hour), By: bot})
	require.Equal(t, noon.Add(time.Hour+time.Minute), w.NextAt)
	w.do(Postponed{Reset: w.Limit.Reset})
	require.Equal(t, reset.Add(time.Minute), w.NextAt)
}

func TestASessionThatGaveUpStaysSo(t *testing.T) {
	w := newWalk()
	w.rules.Backoff.MaxRetries = 1
	w.do(limited(noon, limit.Overloaded)).resume().end(Failed)
	require.Equal(t, GaveUp, w.State)
	w.rules.Backoff.MaxRetries = 5
	w.do(limited(w.now, limit.Overloaded))
	require.Equal(t, GaveUp, w.State, "only a person, or new work, changes that")
}

// Records may be written by a clock that is ahead, and are not always read in order.
func TestNothingHasHappenedInTheFuture(t *testing.T) {
	w := newWalk().do(Prompted{At: noon.Add(time.Hour)}, Progressed{At: noon.Add(time.Hour)})
	require.Equal(t, noon, w.PromptedAt)
	require.Equal(t, noon, w.MovedAt)
	require.Equal(t, noon, w.do(Prompted{At: noon.Add(-time.Hour)}).PromptedAt, "nor is an old prompt the last one")
	w.do(Learned{Usage: &Usage{At: noon.Add(time.Hour)}, Context: &Context{Tokens: 1, At: noon.Add(time.Hour)}})
	require.Equal(t, noon, w.Usage.At, "the next reading is not an old one")
	require.Equal(t, noon, w.Context.At, "the provider's cache ends")
	until := Bounded(NotSent{Until: time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC)}).(NotSent).Until
	require.True(t, FitsJSON(until))
}

func TestMaxWaitCountsFromNow(t *testing.T) {
	w := newWalk().after(20 * time.Hour).do(limitedUntil(noon, limit.UsageLimit, noon.Add(200*time.Hour)))
	require.Equal(t, Waiting, w.State)
	w = newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(200*time.Hour)))
	require.Equal(t, Parked, w.State)
}

func TestAClockThatWasSetBackHoldsNobodyBack(t *testing.T) {
	w := newWalk().after(far).do(limited(noon.Add(far), limit.Overloaded)).resume().end(Failed).resume()
	w.do(NotSent{Mark: w.Run.Mark, Why: "busy"})
	require.False(t, w.NotBefore.IsZero())
	before := w.Session
	w.now = noon
	w.do(Rewound{})
	require.False(t, w.NextAt.After(noon.Add(time.Hour)))
	require.Equal(t, noon, w.Attempts[0].StartedAt)
	require.True(t, before.Attempts[0].StartedAt.After(noon), "what was stored before does not change with it")
}

// What a session was started with stays known, and no later prompt counts as one that its process had.
func TestAClockThatWasSetBackHidesNoStart(t *testing.T) {
	w := newWalk().after(far)
	w.do(Prompted{At: w.now}).after(time.Minute).do(Learned{Origin: &Origin{SeenAt: w.now, ArgsSeen: true, EnvSeen: true}})
	before := w.Session
	w.now = noon
	require.True(t, w.IsAhead(noon))
	w.do(Rewound{})
	require.False(t, w.IsAhead(noon))
	require.True(t, w.StartedWith().Seen())
	w.do(Learned{Origin: &Origin{SeenAt: noon.Add(time.Second), ArgsSeen: true, EnvSeen: true}})
	require.True(t, w.StartedWith().Seen())
	w.after(time.Minute).do(Prompted{At: w.now})
	require.False(t, w.StartedWith().Seen(), "it may have gone to another process")
	require.Equal(t, noon.Add(far+time.Minute), before.Origin.SeenAt, "what was stored before does not change with it")

	w = newWalk().after(far).do(Learned{Origin: &Origin{SeenAt: noon.Add(far), ArgsSeen: true, EnvSeen: true}}).after(time.Minute)
	w.do(Prompted{At: w.now})
	w.now = noon
	require.False(t, w.do(Rewound{}).StartedWith().Seen(), "nor does an unseen start become a seen one")
	w.after(far).do(Prompted{At: w.now}, limited(w.now, limit.Overloaded)).resume().do(Progressed{At: w.now})
	w.now = noon
	w.do(Rewound{})
	require.True(t, w.LastResume().After(w.PromptedAt), "nor a resume a person's prompt")
	require.True(t, w.Unattended())
}

func TestWhatIsMissedIsNotMissedForEver(t *testing.T) {
	w := newWalk()
	w.rules.Overdue = 12 * time.Hour
	w.after(48 * time.Hour).do(limited(noon, limit.Overloaded))
	require.NotEmpty(t, w.Overdue(w.now))
	w.do(limited(w.now, limit.Overloaded))
	require.Empty(t, w.Overdue(w.now), "a refusal of today is no old news")
}

// Records up to the claim say nothing about a prompt.
func TestAPromptIsLookedForBehindWhatWasKnown(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded))
	w.Seen = Position{Epoch: "1", Offset: 40}
	w.after(time.Minute).do(Due{Mark: "m"}, Started{Mark: "m", Unverifiable: true})
	require.Equal(t, w.Seen, w.Run.Behind)
}

func TestAStartOfWhichOnlyAPartIsKnownIsUnseen(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded), ProcessUnknown{Why: "not seen"})
	w.do(Learned{Origin: &Origin{SeenAt: noon, ArgsSeen: true}})
	require.Equal(t, []any{Parked, StartUnseen}, []any{w.State, w.Needs})
}

func TestAnAllowanceOfBeforeTheLimitDoesNotLiftIt(t *testing.T) {
	w := newWalk().do(limited(noon, limit.UsageLimit))
	w.do(Learned{Usage: &Usage{At: noon, Lifts: noon.Add(-time.Minute)}})
	require.False(t, w.Limit.Reset.Stated())
	w.do(Learned{Usage: &Usage{At: noon, Lifts: noon.Add(time.Hour)}})
	require.Equal(t, noon.Add(time.Hour), w.Limit.Reset.At)
}

func TestWhatAPersonWasToldIsNotToldAgainByALook(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).after(time.Minute).do(Due{Mark: "m"}, NotSent{Mark: "m", Why: "busy", Then: Tell})
	require.True(t, w.Reported)
	require.True(t, w.do(Occupied{Owner: Owner{PID: 7}}).Reported)
}

func TestASessionThatAsksIsNotRetried(t *testing.T) {
	w := newWalk().do(Asked{For: "Bash", Attended: true})
	require.Equal(t, Parked, w.State)
	before := w.Session
	require.Equal(t, before, w.do(Retry{}).Session)
}

func TestAMachineThatRunsLongHasSettled(t *testing.T) {
	w := working(ResumeCutOff).after(time.Hour)
	w.do(Died{Process: own, At: noon.Add(time.Minute), How: Restarted, BootedAt: w.now.Add(-time.Hour)})
	require.Equal(t, w.now.Add(30*time.Second), w.NextAt)
}

func TestASessionThatIsForgottenKeepsItsLastPrompt(t *testing.T) {
	w := working(ResumeCutOff)
	require.NotNil(t, w.StartedWith())
	w.PromptedAt = noon.Add(time.Hour) // in another process
	require.Nil(t, w.StartedWith())
	require.Nil(t, w.Forgotten().StartedWith(), "otherwise it would be continued with the flags of an earlier start")
}
