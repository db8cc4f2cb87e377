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
	require.Equal(t, "nobody knows", w.Reason)
	require.Equal(t, Unknown, w.Attempts[0].Outcome)
	require.Nil(t, w.Run)
	require.True(t, w.deadline().IsZero(), "no time makes it due")

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
	require.Equal(t, "it goes on by itself", later.Reason)
	require.Empty(t, later.Attempts)
	require.Equal(t, at.Add(recheck), due(NotSent{Why: "long ago", Until: noon.Add(-time.Hour)}).NextAt, "never at once")
}
