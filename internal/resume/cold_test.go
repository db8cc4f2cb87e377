package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func TestALargeContextThatIsReadAnew(t *testing.T) {
	size := func(tokens int64, age, warm time.Duration) Learned {
		return Learned{Context: &Context{Tokens: tokens, At: noon.Add(-age), Warm: warm}}
	}
	const large, small = 150_000, 20_000
	for name, c := range map[string]struct {
		on          OnCold
		ev          Learned
		told, parks bool
	}{
		"is resumed where nothing else is wanted": {ResumeCold, size(large, 0, 5*time.Minute), false, false},
		"is told":                     {TellCold, size(large, 0, 5*time.Minute), true, false},
		"waits for a person":          {ParkCold, size(large, 0, 5*time.Minute), false, true},
		"is small enough":             {ParkCold, size(small, 0, 5*time.Minute), false, false},
		"is still warm by then":       {ParkCold, size(large, 0, 2*time.Hour), false, false},
		"may be cold: nobody knows":   {ParkCold, size(large, 0, 0), false, true},
		"is still warm, nothing told": {TellCold, size(large, 0, 2*time.Hour), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWalk()
			w.rules.MaxColdTokens, w.rules.OnCold = 100_000, c.on
			w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)), c.ev)
			require.Equal(t, c.told, w.Reported)
			w.after(2 * time.Hour).do(Due{Mark: "m"})
			if !c.parks {
				require.Equal(t, Resuming, w.State)
				return
			}
			require.Equal(t, Parked, w.State)
			require.Equal(t, Reason{Kind: WhyTooCold, N: large, Text: "100000"}, w.Reason)
			w.do(Retry{}, Due{Mark: "m"})
			require.Equal(t, Resuming, w.State, "a person wants it all the same")
		})
	}
}

func TestAContextHasNoBoundUnlessOneIsSet(t *testing.T) {
	w := newWalk()
	w.rules.OnCold = ParkCold
	w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)), Learned{Context: &Context{Tokens: 1 << 40, At: noon, Warm: time.Minute}})
	w.after(2 * time.Hour).do(Due{Mark: "m"})
	require.Equal(t, Resuming, w.State)
}

// The context of a refusal is stored with it, unless a person is told about it in a step of its own.
func TestARefusalMayTellTheSizeOfTheContext(t *testing.T) {
	size := Context{Tokens: 150_000, At: noon, Warm: time.Minute}
	limited := limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour))
	limited.Context = size
	for on, want := range map[OnCold]Context{ResumeCold: size, ParkCold: size, TellCold: {}} {
		w := newWalk()
		w.rules.MaxColdTokens, w.rules.OnCold = 100_000, on
		w.do(limited)
		require.Equal(t, Waiting, w.State)
		require.Equal(t, want, w.Context, on)
		require.False(t, w.Reported)
		w.do(limitedUntil(noon, limit.UsageLimit, noon.Add(time.Hour)))
		require.Equal(t, want, w.Context, "one that does not tell takes nothing back")
	}
}
