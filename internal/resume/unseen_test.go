package resume

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
)

func seenAt(at time.Time) Learned {
	return Learned{Origin: &Origin{SeenAt: at, BeganAt: at.Add(-time.Hour), ArgsSeen: true, EnvSeen: true}}
}

func TestASessionWhoseStartWasNotSeenNeedsAPersonsWord(t *testing.T) {
	reset := noon.Add(2 * time.Hour)
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), ProcessUnknown{Why: "not seen"})
	require.Equal(t, []any{Parked, StartUnseen, "not seen"}, []any{w.State, w.Needs, w.Reason})
	require.NotEmpty(t, w.NoticeID, "a person is told, once")
	told := w.NoticeCount

	w.do(Retry{By: "another machine"})
	require.False(t, w.Allowed, "only its own user can say so")

	w = newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), ProcessUnknown{Why: "not seen"}, Retry{})
	require.True(t, w.Allowed)
	require.Equal(t, Waiting, w.State)
	require.Equal(t, reset.Add(time.Minute), w.NextAt, "the word does not shorten the provider's wait")
	require.Empty(t, w.Needs)
	w.do(ProcessUnknown{Why: "not seen"})
	require.Equal(t, Waiting, w.State, "the word is remembered")
	require.Equal(t, told, w.NoticeCount)

	w = newWalk().do(limited(noon, limit.Overloaded), ProcessUnknown{Why: "not seen"}, Retry{})
	require.Equal(t, noon, w.NextAt, "without a stated time it is due now")
}

// A word about a program is no word about a start that was not seen, and is only given by its own user.
func TestAPersonsWordForAProgram(t *testing.T) {
	asks := ProcessUnknown{Why: "who knows", Shows: "./bot 1"}
	reset := noon.Add(2 * time.Hour)
	w := newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), seenAt(noon), asks)
	require.Equal(t, []any{Parked, TrustNeeded, "who knows"}, []any{w.State, w.Needs, w.Reason})
	require.False(t, w.Early(noon), "the word does not shorten the provider's wait")
	require.Empty(t, newWalk().do(limited(noon, limit.Overloaded), asks, Retry{By: "another machine"}).Trusted)

	w.do(Retry{})
	require.Equal(t, []any{"./bot 1", false, Waiting}, []any{w.Trusted, w.Allowed, w.State})
	require.Equal(t, reset.Add(time.Minute), w.NextAt)
	w = newWalk().do(limited(noon, limit.Overloaded), asks, Retry{})
	require.False(t, w.Allowed)
}

func TestAStartThatIsFoundLaterIsAsGood(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded), ProcessUnknown{Why: "not seen"}, seenAt(noon))
	require.Equal(t, Waiting, w.State)
	require.Empty(t, w.Needs)
	w.do(ProcessUnknown{Why: "not seen"})
	require.Equal(t, Waiting, w.State)
}

func TestADeliveryThatFindsNoStartParks(t *testing.T) {
	w := newWalk().do(limited(noon, limit.Overloaded)).after(time.Minute).do(Due{Mark: "m"}, NotSent{Mark: "m", Why: "not seen", Then: ParkUnseen})
	require.Equal(t, []any{Parked, StartUnseen}, []any{w.State, w.Needs})
	require.Empty(t, w.Attempts, "it does not count as a try")
}
