package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

// A retry undoes a cancel, as long as the interruption is not over.
func TestARetryUndoesACancel(t *testing.T) {
	reset := limitedUntil(noon, limit.RateLimit, noon.Add(time.Hour))
	soon := limited(noon, limit.RateLimit)
	for name, c := range map[string]struct {
		before func(*walk)
		after  []Event // between the cancel and the retry
		retry  Retry
		want   State
		at     time.Duration // after noon
	}{
		"waits for its reset again":      {func(w *walk) { w.do(reset) }, nil, Retry{}, Waiting, time.Hour},
		"is due if the order says now":   {func(w *walk) { w.do(reset) }, nil, Retry{Now: true}, Waiting, time.Minute},
		"is due without a reset":         {func(w *walk) { w.do(soon) }, nil, Retry{}, Waiting, time.Minute},
		"was parked and is due":          {func(w *walk) { w.do(limited(noon, limit.Auth)) }, nil, Retry{}, Waiting, time.Minute},
		"was about to be resumed":        {func(w *walk) { w.do(soon).after(time.Minute).do(Due{Mark: "1"}) }, nil, Retry{}, Waiting, 2 * time.Minute},
		"is being resumed":               {func(w *walk) { w.do(soon).resume() }, nil, Retry{}, Resuming, 0},
		"its resume ended meanwhile":     {func(w *walk) { w.do(soon).resume() }, []Event{Ended{Mark: "m1", Outcome: Delivered}}, Retry{}, Settling, 3*time.Minute + 30*time.Second},
		"settles":                        {func(w *walk) { w.do(soon).resume().end(Delivered) }, nil, Retry{}, Settling, 3*time.Minute + 30*time.Second},
		"has moved since":                {func(w *walk) { w.do(reset) }, []Event{Progressed{At: noon.Add(time.Minute)}}, Retry{}, Watching, 0},
		"got a prompt from its user":     {func(w *walk) { w.do(reset) }, []Event{Prompted{At: noon.Add(time.Minute)}}, Retry{}, Watching, 0},
		"met another limit, which waits": {func(w *walk) { w.do(reset) }, []Event{soon, Forget{}}, Retry{}, Waiting, time.Minute},
	} {
		w := newWalk()
		c.before(w)
		tries := w.Tries()
		w.do(Forget{})
		require.Equal(t, Watching, w.State, name)
		require.Equal(t, Because(WhyCancelled), w.Reason, name)
		w.after(time.Minute).do(c.after...)
		w.do(c.retry)
		require.Equal(t, c.want, w.State, name)
		require.Nil(t, w.Undo, name)
		if c.at > 0 {
			require.Equal(t, c.at, w.NextAt.Sub(noon), name)
		}
		if c.want == Resuming || c.want == Settling {
			require.Equal(t, tries, w.Tries(), name)
			require.Empty(t, w.Past, name)
		}
	}
}
