package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestAResumeOfWhichNobodyKnowsIsParkedAndNotRepeated(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded))
	w.now = w.NextAt
	w.do(Due{Mark: "m1"}, Started{Mark: "m1", Process: Process{PID: 7, Start: 1}, Unverifiable: true})
	require.True(t, w.Run.Unverifiable)
	require.Equal(t, Process{PID: 7, Start: 1}, w.Run.Process)
	w.do(Ended{Mark: "m1", Outcome: Unknown, Err: "nobody knows"})
	require.Equal(t, Parked, w.State)
	require.Equal(t, Reason{Kind: WhyUnknownOutcome, Text: "nobody knows"}, w.Reason)
	require.Equal(t, Unknown, w.Attempts[0].Outcome)
	require.Nil(t, w.Run)
	require.True(t, w.Deadline().IsZero(), "no time makes it due")

	require.Equal(t, Waiting, w.do(Retry{}).State, "a person who has looked may order it")
	w = newWalk().do(limited(noon, limit.Overloaded)).resume().end(Unknown).after(time.Hour)
	require.Equal(t, Watching, w.do(Progressed{At: w.now}).State, "or it moves after all")
}

func TestAResumeIsHeldAsLongAsItIsAskedFor(t *testing.T) {
	due := func(hold NotSent) Session {
		w := newWalk().do(limited(noon, limit.Overloaded))
		w.now = w.NextAt
		w.do(Due{Mark: "m1"})
		hold.Mark = "m1"
		return w.do(hold).Session
	}
	at := newWalk().do(limited(noon, limit.Overloaded)).NextAt
	require.Equal(t, at.Add(recheck), due(NotSent{Why: "it works"}).NextAt)
	later := due(NotSent{Why: "it goes on by itself", Until: at.Add(5 * time.Minute)})
	require.Equal(t, at.Add(5*time.Minute), later.NextAt)
	require.Equal(t, Reason{Kind: WhyNotSent, Text: "it goes on by itself"}, later.Reason)
	require.Empty(t, later.Attempts)
	require.Equal(t, at.Add(recheck), due(NotSent{Why: "long ago", Until: noon.Add(-time.Hour)}).NextAt, "never at once")
}

// If the process of a session accepts no prompt, that is reported at once, and the session continues by
// the same rules when its process has ended.
func TestASessionOutOfReachWaitsForItsProcess(t *testing.T) {
	const why = "quit it: process 7 holds it"
	reset := noon.Add(time.Hour)
	met := limitedUntil(noon, limit.UsageLimit, reset)
	due := newWalk().do(met).NextAt
	occupied := Occupied{Owner: Owner{PID: 7, Kind: "interactive"}, Unreached: why, Tell: true}

	w := newWalk().do(met, occupied)
	require.Equal(t, Waiting, w.State)
	require.Equal(t, due, w.NextAt, "it is looked at again then")
	require.Equal(t, []any{WhyStopped, why}, []any{w.Reason.Kind, w.Unreached})
	require.True(t, w.Reported)
	require.Equal(t, 7, w.Owner.PID)
	require.Equal(t, w.Reason, w.do(Reconsider{}).Reason, "a reload does not forget it")

	w.do(Released{})
	require.Nil(t, w.Owner)
	require.Equal(t, []any{Because(WhyStopped), ""}, []any{w.Reason, w.Unreached})
	require.Equal(t, due, w.NextAt, "not before the limit lifts")
	require.False(t, w.Reported, "the next one who holds it is told of again")

	w = newWalk().do(met, occupied)
	w.now = w.NextAt
	w.do(Due{Mark: "m1"}, NotSent{Mark: "m1", Why: why, Then: TellUnreached, Owner: &Owner{PID: 7}})
	require.Equal(t, inWordsOf(WhyNotSent, why), w.Reason)
	require.Equal(t, w.now.Add(recheck), w.NextAt)
	require.False(t, w.do(Released{}).NextAt.After(w.now), "due at once when the process is gone")

	gone := newWalk().do(met, occupied, Occupied{Owner: Owner{PID: 8}})
	require.Equal(t, []any{Because(WhyStopped), ""}, []any{gone.Reason, gone.Unreached}, "another one holds it, and can be reached")
	require.Empty(t, newWalk().do(met, occupied, Prompted{At: noon.Add(time.Minute)}).Unreached, "a person went on in it")
}

// A session that was parked because of its owner is released when that ends; one that was parked for
// another reason is not.
func TestTheEndOfAHolderRevivesOnlyWhatItHeldBack(t *testing.T) {
	parked := func(hold NotSent) *walk {
		w := newWalk().do(limited(noon, limit.Overloaded))
		w.now = w.NextAt
		hold.Mark, hold.Then = "m1", Park
		w.do(Due{Mark: "m1"}, hold)
		require.Equal(t, Parked, w.State)
		return w
	}
	held := parked(NotSent{Why: "a screen that is not known", Owner: &Owner{PID: 7}})
	require.Equal(t, Waiting, held.do(Released{}).State)
	require.Equal(t, Parked, parked(NotSent{Why: "the directory is gone"}).do(Released{}).State)

	superseded := newWalk().do(limited(noon, limit.Overloaded), Occupied{Owner: Owner{PID: 7}, Unreached: "held"}, Superseded{By: Key{ID: "other"}})
	require.Equal(t, Parked, superseded.State)
	require.Equal(t, Parked, superseded.do(Released{}).State)

	unknown := newWalk().do(limited(noon, limit.Overloaded)).resume().end(Unknown)
	require.Equal(t, Parked, unknown.do(Released{}).State, "nobody knows what became of a prompt: never sent twice")
}

// A user who closed a session after it was stopped may want to be asked. A person's order overrides
// that, and so do other rules.
func TestASessionThatItsUserClosedIsLeftToThem(t *testing.T) {
	met := limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))
	held := Occupied{Owner: Owner{PID: 7, Kind: Interactive}}
	leaves := func(events ...Event) *walk {
		w := newWalk()
		w.rules.Closed = LeaveClosed
		return w.do(met, held).do(events...)
	}
	require.Equal(t, Waiting, newWalk().do(met, held, Released{Closed: true}).State, "unless that is wanted")
	require.Equal(t, Waiting, leaves(Released{}).State, "its process was killed")

	w := leaves(Released{Closed: true})
	require.Equal(t, Parked, w.State)
	require.Equal(t, Because(WhyClosed), w.Reason)
	require.Equal(t, Parked, w.do(Reconsider{}).State)
	w.rules.Closed = ResumeClosed
	require.Equal(t, Waiting, w.do(Reconsider{}).State, "by other rules it goes on")
	w.rules.Closed = LeaveClosed
	require.Equal(t, Parked, w.do(Reconsider{}).State)

	require.Equal(t, Waiting, w.do(Retry{}).State)
	require.Equal(t, Waiting, w.do(Reconsider{}).State, "a person asked for it")
	require.Equal(t, Waiting, leaves(Retry{}, Released{Closed: true}).State, "who asks for it and makes room wants it")
	require.Equal(t, Waiting, leaves(Released{Closed: true}, Prompted{At: noon.Add(time.Minute)}, limited(noon.Add(2*time.Minute), limit.Overloaded)).State, "it is another stop")

	w = leaves()
	w.now = w.NextAt
	require.Equal(t, Parked, w.do(Due{Mark: "m1"}, NotSent{Mark: "m1", Why: "you have closed it", Then: UserClosed}).State, "seen when it is due")
}

// A session that works unattended and asks for a permission needs a person, until that is answered.
func TestAPermissionThatAnUnattendedSessionAsksFor(t *testing.T) {
	asks := Asked{For: "permission: Bash (make)", Owner: Owner{PID: 7}}
	resumed := func() *walk {
		w := newWalk().do(limited(noon, limit.Overloaded)).resume().end(Delivered).after(time.Minute)
		w.do(Progressed{At: w.now})
		w.now = w.now.Add(time.Minute)
		return w
	}
	w := resumed()
	require.True(t, w.Unattended())
	working := w.Session
	w.do(asks)
	require.Equal(t, Parked, w.State)
	require.Equal(t, []any{WhyAsks, "permission: Bash (make)"}, []any{w.Reason.Kind, w.Asks})
	require.True(t, Change{Before: working, After: w.Session}.NeedsPerson())
	require.NotEmpty(t, w.NoticeID)
	require.Equal(t, w.Session, w.do(asks, Retry{}).Session, "only an answer helps")

	for name, end := range map[string]Event{"answered": Answered{}, "moves": Progressed{At: w.now}} {
		after := resumed().do(asks, end)
		require.Equal(t, Watching, after.State, name)
		require.Equal(t, Because(WhyAnswered), after.Reason, name)
		require.True(t, after.Unattended(), "it may ask again")
	}
	require.Equal(t, Because(WhyNotAsking), resumed().do(asks, Released{}).Reason)
	require.Equal(t, Because(WhyStoppedByUser), resumed().do(asks, Cancelled{At: w.now}).Reason)
	again := resumed().do(asks, limited(w.now, limit.Overloaded))
	require.Equal(t, Waiting, again.State)
	require.Equal(t, w.now, again.StoppedAt)

	subagents := func(stopped ...Subagent) Event { return Learned{Subagents: &stopped} }
	stopped := Subagent{ID: "a", At: w.now.Add(time.Minute), Class: limit.UsageLimit}
	for between, events := range map[string][]Event{
		"subagents were stopped": {subagents(stopped)}, "they continued": {subagents(stopped), subagents()},
		"it was silent": {Silent{Owner: Owner{PID: 7}}, Progressed{At: w.now.Add(time.Minute)}},
	} {
		w := resumed()
		w.rules.Silent = time.Minute
		require.True(t, w.do(events...).Unattended(), between)
		require.Equal(t, WhyAsks, w.do(asks).Reason.Kind, between)
	}

	w = resumed()
	w.do(Prompted{At: w.now}, asks)
	require.Equal(t, Watching, w.State, "a person is there")
	require.False(t, w.WorksAlone)
	require.Equal(t, Waiting, newWalk().do(limited(noon, limit.Overloaded), asks).State)
}

// A hook also reports what a session asks for that a person has given its prompt.
func TestAPermissionThatAHookReports(t *testing.T) {
	asks := Asked{For: "permission: Bash (make)", Attended: true}
	w := newWalk()
	w.do(Prompted{At: w.now}, asks)
	require.Equal(t, Parked, w.State)
	require.Equal(t, []any{WhyAsks, "permission: Bash (make)"}, []any{w.Reason.Kind, w.Asks})
	require.Nil(t, w.Owner)
	require.True(t, w.WorthKeeping(), "people see it")
	w.do(Progressed{At: w.now})
	require.Equal(t, Watching, w.State)
	require.Equal(t, Because(WhyAnswered), w.Reason)
	require.False(t, w.WorthKeeping())
	require.False(t, w.Unattended(), "a person was there all the time")
	require.Equal(t, Waiting, newWalk().do(limited(noon, limit.Overloaded), asks).State, "it is stopped, and asks for nothing")
}

// A session that its user has left for an empty one is theirs.
func TestASessionThatWasLeftIsNotContinued(t *testing.T) {
	met := limited(noon, limit.Overloaded)
	w := newWalk().do(met, Occupied{Owner: Owner{PID: 7}}, Released{Closed: true, Cleared: true})
	require.Equal(t, Watching, w.State)
	require.Equal(t, Because(WhyCleared), w.Reason)
	w = newWalk().do(met)
	w.now = w.NextAt
	w.do(Due{Mark: "m1"}, NotSent{Mark: "m1", Why: "it was left", Then: UserSwitched})
	require.Equal(t, Watching, w.State)
	require.Equal(t, Because(WhyCleared), w.Reason)
	require.Nil(t, w.Run)
	require.Equal(t, Waiting, w.do(limited(w.now.Add(time.Minute), limit.Overloaded)).State, "the next limit is another matter")
}
