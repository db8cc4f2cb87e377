package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

const refusal = "was refused permission to use Bash"

func (w *walk) deny() *walk {
	return w.do(Ended{Mark: "m1", Outcome: Denied, Err: refusal})
}

func TestADeniedPermissionIsLeftToAPerson(t *testing.T) {
	run := func() *walk { return newWalk().do(limited(noon, limit.Overloaded)).resume().after(time.Second) }
	cases := map[string]*walk{
		"before the transcript was read": run().deny(),
		"after it moved":                 run().do(Progressed{At: noon.Add(30 * time.Second)}).deny(),
		"and what it wrote is read afterwards": run().deny().after(time.Second).do(
			Prompted{At: noon.Add(30 * time.Second)}, Progressed{At: noon.Add(31 * time.Second)}),
	}
	for name, w := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, Parked, w.State)
			require.Equal(t, Reason{Kind: WhyDenied, Text: refusal}, w.Reason)
			require.Zero(t, w.Deadline(), "it is not tried again blindly")
			require.Len(t, w.Attempts, 1)
			require.Equal(t, Denied, w.Attempts[0].Outcome)
			require.Equal(t, refusal, w.Attempts[0].Err)
			require.Empty(t, w.Past, "it is told once")
			require.Nil(t, w.Run)
		})
	}
}

func TestWhatHappenedSinceTheDenialCounts(t *testing.T) {
	run := func() *walk { return newWalk().do(limited(noon, limit.Overloaded)).resume().after(time.Second) }
	again := limited(noon.Add(time.Minute), limit.Overloaded)
	cases := map[string]struct {
		*walk
		want State
	}{
		"the limit was met again":           {run().after(time.Minute).do(again).deny(), Waiting},
		"a person stopped it":               {run().do(Cancelled{At: noon.Add(30 * time.Second)}).deny(), Watching},
		"a person forgot it":                {run().do(Forget{}).deny(), Watching},
		"a person goes on":                  {run().deny().after(time.Hour).do(Prompted{At: noon.Add(time.Hour)}), Watching},
		"the agent goes on":                 {run().deny().after(time.Hour).do(Progressed{At: noon.Add(time.Hour)}), Watching},
		"the limit is met after the denial": {run().deny().after(time.Minute).do(again), Waiting},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.State) })
	}
}

func TestADeniedSessionIsRetriedOnAPersonsOrder(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).resume().after(time.Second).
		do(Progressed{At: noon.Add(30 * time.Second)}).deny().after(time.Hour).do(Retry{})
	require.Equal(t, Waiting, w.State)
	require.Equal(t, w.now, w.NextAt)
	require.True(t, w.DeniedAt(noon.Add(30*time.Second)), "its plan must know that it stands where it was left")
	require.False(t, w.DeniedAt(w.now))

	w.do(Due{Mark: "m2"}, NotSent{Mark: "m2", Why: "open in its terminal (process 7)"})
	require.Equal(t, Waiting, w.State, "it is looked at again")
	require.Equal(t, Reason{Kind: WhyNotSent, Text: "open in its terminal (process 7)"}, w.Reason)

	w.resume().after(time.Second).end(Failed)
	require.Equal(t, Parked, w.State, "there is no limit that could be waited out")
	require.Equal(t, inWordsOf(WhyRetryFailed, "exit status 1"), w.Reason)
}
