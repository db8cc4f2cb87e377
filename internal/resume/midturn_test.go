package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

var own = Process{PID: 7, Start: 1}

// working is a session in the middle of a turn, whose process is known.
func working(on OnCutOff) *walk {
	w := newWalk()
	w.rules.CutOff, w.rules.Silent = on, 20*time.Minute
	w.do(Prompted{At: noon}, Learned{Origin: &Origin{Process: own, SeenAt: noon, ArgsSeen: true, EnvSeen: true}, Kind: Interactive})
	return w.after(time.Minute).do(Progressed{At: noon.Add(time.Minute)})
}

func (w *walk) dies(how End) *walk {
	return w.do(Died{Process: own, At: noon.Add(time.Minute), How: how, BootedAt: w.now})
}

func TestASessionThatWasCutOffIsLeftToAPerson(t *testing.T) {
	w := working(TellCutOff).after(time.Hour).dies(Restarted)
	require.Equal(t, Parked, w.State)
	require.Equal(t, limit.CutOff, w.Limit.Class)
	require.Equal(t, RetryCutOff, w.Needs)
	require.Equal(t, []any{WhyCutOff, "was cut off by a restart of the machine"}, []any{w.Reason.Kind, w.LimitText})
	require.True(t, w.Deadline().IsZero())
	require.NotEmpty(t, w.NoticeID)
	notice := w.NoticeID

	w.do(Progressed{At: noon.Add(time.Minute)}, Prompted{At: noon}) // read late
	require.Equal(t, Parked, w.State)
	require.Equal(t, notice, w.NoticeID, "told once")
	w.dies(Killed)
	require.Equal(t, notice, w.NoticeID)

	ordered := w.do(Retry{}).Session
	require.Equal(t, Waiting, ordered.State)
	require.Equal(t, w.now, ordered.NextAt)
	w.do(Prompted{At: w.now})
	require.Equal(t, Watching, w.State, "or its user continues it")
	require.Equal(t, Because(WhyContinued), w.Reason)
}

func TestASessionThatWasCutOffIsResumedByTheSameRules(t *testing.T) {
	w := working(ResumeCutOff).after(time.Hour).dies(Killed)
	require.Equal(t, Waiting, w.State)
	require.Equal(t, w.now.Add(30*time.Second), w.NextAt)
	for range 5 {
		w.now = w.NextAt
		w.resume().end(Failed)
	}
	require.Equal(t, GaveUp, w.State)

	w = working(ResumeCutOff).after(time.Hour).dies(Restarted)
	require.Equal(t, w.now.Add(settledBoot), w.NextAt, "not while the machine starts")

	w = working(ResumeCutOff)
	w.rules.Overdue = 24 * time.Hour
	require.NotEmpty(t, w.after(25*time.Hour).dies(Restarted).Overdue(), "after a day a person is asked")
	require.Equal(t, Waiting, w.State)

	// Each end of a process counts until a person prompts it, and none of them is a usage limit.
	w = working(ResumeCutOff)
	w.rules.MaxWindows = 2
	for range w.rules.MaxWindows {
		require.Equal(t, Waiting, w.do(Died{Process: own, At: w.now, How: Killed}).State)
		w.resume().do(Progressed{At: w.now}).end(Delivered)
		w.Origin = working(ResumeCutOff).Origin
	}
	require.Equal(t, Reason{Kind: WhyMaxCutOffs, N: 2}, w.do(Died{Process: own, At: w.now, How: Killed}).Reason)
	require.Equal(t, Parked, w.State)
	require.Zero(t, w.Windows)
	w.do(Prompted{At: w.now}, limitedUntil(w.now, limit.UsageLimit, w.now.Add(time.Hour)))
	require.Equal(t, []int{1, 0}, []int{w.Windows, w.CutOffs})
}

func TestWhatDoesNotCountAsCutOff(t *testing.T) {
	for rule, c := range map[string]struct {
		how    End
		change func(*walk)
	}{
		"it is ignored":                                 {Killed, func(w *walk) { w.rules.CutOff = IgnoreCutOff }},
		"its directory is excluded":                     {Killed, func(w *walk) { w.rules.Exclude = []string{"/src"} }},
		"its terminal may have been closed, and counts": {HungUp, func(w *walk) { w.rules.Closed = LeaveClosed }},
		"its user may have ended it":                    {Vanished, func(w *walk) { w.rules.Closed = LeaveClosed }},
		"a run may have been ended with Ctrl-C":         {Vanished, func(w *walk) { w.Kind = Headless }},
		"it went on":                                    {Killed, func(w *walk) { w.do(Progressed{At: w.now.Add(time.Minute)}); w.MovedAt = w.now.Add(time.Minute) }},
		"another process continued it":                  {Killed, func(w *walk) { w.Origin = &Origin{Process: Process{PID: 8}} }},
		"a resume of it runs":                           {Killed, func(w *walk) { w.Run = &Run{Mark: "m"} }},
		"a limit has stopped it":                        {Killed, func(w *walk) { w.do(limited(w.now, limit.UsageLimit)) }},
	} {
		t.Run(rule, func(t *testing.T) {
			w := working(TellCutOff)
			c.change(w)
			w.dies(c.how)
			require.NotEqual(t, limit.CutOff, w.Limit.Class)
			require.NotEqual(t, Parked, w.State)
		})
	}
	for how, closed := range map[End]OnClosed{Killed: LeaveClosed, Restarted: LeaveClosed, HungUp: ResumeClosed, Vanished: ResumeClosed} {
		w := working(TellCutOff)
		w.rules.Closed = closed
		require.Equal(t, limit.CutOff, w.dies(how).Limit.Class, how)
	}
	w := working(TellCutOff)
	w.Kind = Headless
	require.Equal(t, limit.CutOff, w.dies(HungUp).Limit.Class, "a run does not end by Ctrl-C without a record, if its agent says so")
}

func TestASilentSessionIsToldOnceUntilItMoves(t *testing.T) {
	owner := Owner{PID: 7, Kind: Interactive, Tmux: "%3"}
	w := working(TellCutOff).after(time.Hour).do(Silent{Owner: owner})
	require.Equal(t, Parked, w.State)
	require.Equal(t, Reason{Kind: WhySilent, N: 20 * 60}, w.Reason)
	require.True(t, w.WorthKeeping())
	notice := w.NoticeID
	require.NotEmpty(t, notice)
	require.Equal(t, notice, w.do(Silent{Owner: owner}).NoticeID)
	require.Equal(t, Parked, w.do(Retry{}).State, "nothing is typed")

	for what, ev := range map[string]Event{
		"it moves": Progressed{At: w.now}, "a prompt": Prompted{At: w.now}, "its user stopped it": Cancelled{At: w.now}, "its process ended": Released{}, "its user does not care": Forget{},
	} {
		after := w.Next(ev, w.rules, w.now, half)
		require.Equal(t, Watching, after.State, what)
		require.True(t, after.SilentAt.IsZero(), what)
	}
	asks := w.Next(Asked{For: "permission: Bash", Attended: true}, w.rules, w.now, half)
	require.Equal(t, []any{WhyAsks, "permission: Bash"}, []any{asks.Reason.Kind, asks.Asks})
	require.Equal(t, Waiting, w.Next(limited(w.now, limit.Overloaded), w.rules, w.now, half).State, "a limit stops it")
	require.Equal(t, limit.CutOff, w.dies(Killed).Limit.Class, "it may die, too")
	require.Equal(t, Parked, w.State)
	require.True(t, w.SilentAt.IsZero())
	require.Equal(t, Waiting, w.do(Retry{}).State, "and is then continued like any other")

	w = working(TellCutOff)
	w.rules.Silent = 0
	require.Equal(t, Watching, w.do(Silent{Owner: owner}).State)
}
