package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestTheLastOfTheWeekIsKeptForPeople(t *testing.T) {
	reset, week := noon.Add(time.Hour), noon.Add(50*time.Hour)
	met := limitedUntil(noon, limit.UsageLimit, reset)
	used := func(percent float64) Learned {
		return Learned{Usage: &Usage{At: noon, WeekUsed: percent, WeekResetsAt: week}}
	}
	keeps := func(percent int, events ...Event) *walk {
		w := newWalk()
		w.rules.WeeklyReserve, w.rules.Margin = percent, time.Minute
		return w.do(events...)
	}
	w := keeps(10, met, used(90))
	require.Equal(t, Waiting, w.State)
	require.Equal(t, week.Add(time.Minute), w.NextAt)
	require.Equal(t, Reason{Kind: WhyReserved, N: 10, Text: "90 %"}, w.Reason)
	require.Equal(t, w.NextAt, w.do(Reconsider{}).NextAt)

	due := keeps(10, limited(noon, limit.UsageLimit))
	due.now = due.NextAt
	due.do(HeldBack{Why: w.Reason, Until: week})
	require.NotNil(t, due.Blocked, "another session was told the same")
	due.do(used(90))
	require.Equal(t, []any{w.Reason, w.NextAt}, []any{due.Reason, due.NextAt})
	require.Nil(t, due.Blocked, "and now itself: it is not due any more")

	w.rules.WeeklyReserve = 0
	require.Equal(t, reset.Add(time.Minute), w.do(Reconsider{}).NextAt, "by other rules it is used")
	require.Equal(t, Because(WhyStopped), w.Reason)
	w.rules.WeeklyReserve = 10
	require.Equal(t, week.Add(time.Minute), w.do(Reconsider{}).NextAt)
	require.Equal(t, w.now, w.do(Retry{}).NextAt, "a person may use it")
	require.Equal(t, w.now, w.do(Reconsider{}).NextAt)

	require.Equal(t, reset.Add(time.Minute), keeps(10, met, used(89.9)).NextAt, "there is more left")
	require.Equal(t, reset.Add(time.Minute), keeps(10, met).NextAt, "nobody knows")
	over := keeps(10, met, Learned{Usage: &Usage{At: noon, WeekUsed: 99, WeekResetsAt: noon.Add(-time.Hour)}})
	require.Equal(t, reset.Add(time.Minute), over.NextAt, "that week is over")
	older := keeps(10, met, used(20), Learned{Usage: &Usage{At: noon.Add(-time.Hour), WeekUsed: 99, WeekResetsAt: week}})
	require.Equal(t, reset.Add(time.Minute), older.NextAt, "what was told before counts less")
}

// A usage that is learned only when the session is due makes it wait like one that was known before.
// New rules may end that wait.
func TestWhatIsFoundUsedWhenItIsDueWaitsByTheRules(t *testing.T) {
	week := noon.Add(50 * time.Hour)
	w := newWalk()
	w.rules.WeeklyReserve = 40
	w.do(limited(noon, limit.UsageLimit))
	w.now = w.NextAt
	w.do(Due{Mark: "m1"}, Learned{Usage: &Usage{At: w.now, WeekUsed: 61, WeekResetsAt: week}}, NotSent{Mark: "m1", Then: KeepForPeople, Why: "used"})
	require.Equal(t, week.Add(w.rules.Margin), w.NextAt)
	require.Equal(t, Reason{Kind: WhyReserved, N: 40, Text: "61 %"}, w.Reason)
	require.Empty(t, w.Attempts)

	w.rules.WeeklyReserve = 30
	require.False(t, w.do(Reconsider{}).NextAt.After(w.now), "there is enough left for other wishes")

	w.do(Due{Mark: "m2"}, NotSent{Mark: "m2", Then: KeepForPeople, Why: "used"})
	require.Equal(t, w.now.Add(recheck), w.NextAt, "never at once, whoever else thought that it is used")
}

// If its record states no end, a limit lifts when the agent's own figures say.
func TestALimitLiftsWhenTheAgentsFiguresSay(t *testing.T) {
	lifts := noon.Add(2 * time.Hour)
	told := Learned{Usage: &Usage{At: noon, Lifts: lifts}}
	require.Equal(t, lifts, newWalk().do(limited(noon, limit.UsageLimit), told).Limit.Reset.At)
	require.Equal(t, noon.Add(time.Hour), newWalk().do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)), told).Limit.Reset.At, "what it was told itself counts")
	require.False(t, newWalk().do(limited(noon, limit.Overloaded), told).Limit.Reset.Stated(), "an outage is none")
}
