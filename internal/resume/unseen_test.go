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
	require.Equal(t, []any{Parked, StartUnseen, Reason{Kind: WhyStartNotSeen, Text: "not seen"}}, []any{w.State, w.Needs, w.Reason})
	require.NotEmpty(t, w.NoticeID, "a person is told, once")
	told := w.NoticeCount

	w.do(Retry{By: "another machine"})
	require.Nil(t, w.Allowed, "only its own user can say so")

	w = newWalk().do(limitedUntil(noon, limit.UsageLimit, reset), ProcessUnknown{Why: "not seen"}, Retry{})
	require.NotNil(t, w.Allowed)
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
	require.Equal(t, []any{Parked, TrustNeeded, Reason{Kind: WhyProjectProgram, Text: "who knows"}}, []any{w.State, w.Needs, w.Reason})
	require.False(t, w.Early(noon), "the word does not shorten the provider's wait")
	require.Empty(t, newWalk().do(limited(noon, limit.Overloaded), asks, Retry{By: "another machine"}).Trusted)

	w.do(Retry{})
	require.Equal(t, []any{"./bot 1", false, Waiting}, []any{w.Trusted, w.Allowed != nil, w.State})
	require.Equal(t, reset.Add(time.Minute), w.NextAt)
	w = newWalk().do(limited(noon, limit.Overloaded), asks, Retry{})
	require.Nil(t, w.Allowed)
}

func TestAWordIsForWhatWasShown(t *testing.T) {
	asks, never := Permission{Mode: "default", Rank: 3}, Permission{Mode: "bypass", Rank: 6}
	w := newWalk().do(limited(noon, limit.Overloaded), ProcessUnknown{Why: "not seen", Offers: asks}, Retry{})
	require.Equal(t, &Word{For: &asks}, w.Allowed)
	w.do(Learned{Continues: &never}, Retry{})
	require.Equal(t, &Word{For: &asks}, w.Allowed, "nothing else was shown")
	w.after(time.Minute).do(Due{Mark: "m"}, NotSent{Mark: "m", Why: "wider", Then: ParkUnseen, Offers: never})
	require.Equal(t, []any{Parked, StartUnseen, &Word{For: &asks}}, []any{w.State, w.Needs, w.Allowed})
	require.Equal(t, &Word{For: &never}, w.do(Retry{}).Allowed)

	w = newWalk().do(limited(noon, limit.Overloaded), Retry{})
	require.Equal(t, new(Word), w.Allowed, "the person was shown nothing")
	require.Equal(t, &asks, w.do(Learned{Continues: &asks}).Allowed.For, "the first resume says what it is for")
}

func TestWhatIsWider(t *testing.T) {
	net := Permission{Mode: "workspace", Rank: 2, More: []string{"with network"}}
	for name, c := range map[string]struct {
		now, than Permission
		want      bool
	}{
		"the same":                      {net, net, false},
		"a mode that allows more":       {Permission{Mode: "full", Rank: 3}, net, true},
		"one that allows less":          {Permission{Mode: "read", Rank: 1, More: []string{"x"}}, net, false},
		"more in the same mode":         {net, Permission{Mode: "workspace", Rank: 2}, true},
		"less in the same mode":         {Permission{Mode: "workspace", Rank: 2}, net, false},
		"another one that nobody ranks": {Permission{Mode: "profile a"}, net, true},
		"one after such a one":          {net, Permission{Mode: "profile a"}, true},
		"the same such one":             {Permission{Mode: "profile a"}, Permission{Mode: "profile a"}, false},
		"an agent without modes":        {Permission{}, Permission{}, false},
	} {
		require.Equal(t, c.want, c.now.Wider(c.than), name)
	}
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
