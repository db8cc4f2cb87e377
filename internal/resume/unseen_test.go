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

func TestSettingsAreThoseOfTheStart(t *testing.T) {
	process := Process{PID: 7, Start: 1}
	first := &Origin{Process: process, Settings: &Settings{Mode: "default"}}
	later := &Origin{Process: process, Settings: &Settings{Mode: "bypass"}, Login: "x"}
	require.Equal(t, &Origin{Process: process, Settings: &Settings{Mode: "default"}, Login: "x"}, later.Since(first))
	require.Equal(t, "bypass", later.Settings.Mode, "the other one is not changed")
	require.Same(t, later, later.Since(&Origin{Process: Process{PID: 7, Start: 2}, Settings: first.Settings}), "another process")
	require.Same(t, later, later.Since(nil))
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
