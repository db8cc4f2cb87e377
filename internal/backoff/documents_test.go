package backoff

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// window is the range of one delay with jitter.
type window struct{ base, least, most time.Duration }

func windows(p Policy, n int) []window {
	all := make([]window, n)
	for i := range all {
		all[i].base, all[i].least, all[i].most = p.Range(i + 1)
	}
	return all
}

func mustNamed(t *testing.T, name string) Policy {
	t.Helper()
	p, ok := Named(name)
	require.True(t, ok, name)
	return p
}

// total returns the smallest and largest sum of all waits.
func total(p Policy) (least, most time.Duration) {
	for _, w := range windows(p, p.MaxRetries) {
		least, most = least+w.least, most+w.most
	}
	return least, most
}

func TestSessionPolicyIsItsTable(t *testing.T) {
	p := mustNamed(t, "default")
	require.Equal(t, Default(), p)
	require.Equal(t, 5, p.MaxRetries)
	require.Equal(t, []window{
		{30 * sec, 27 * sec, 33 * sec},
		{60 * sec, 54 * sec, 66 * sec},
		{120 * sec, 108 * sec, 132 * sec},
		{240 * sec, 216 * sec, 264 * sec},
		{300 * sec, 270 * sec, 330 * sec}, // 480 s, capped; then jittered
		{300 * sec, 270 * sec, 330 * sec},
	}, windows(p, 6))
}

func TestWorkflowPolicyIsItsThreeStrategies(t *testing.T) {
	p := mustNamed(t, "workflow")
	require.Equal(t, 4, p.MaxRetries, "five attempts, the first included")
	require.Equal(t, []window{
		{1 * sec, 500 * ms, 1500 * ms},
		{2 * sec, 1 * sec, 3 * sec},
		{4 * sec, 2 * sec, 6 * sec},
		{8 * sec, 4 * sec, 12 * sec},
		{16 * sec, 8 * sec, 24 * sec},
		{32 * sec, 16 * sec, 48 * sec},
		{60 * sec, 30 * sec, 60 * sec}, // clamped after the jitter
	}, windows(p, 7))
	require.Less(t, p.Delay(4, 0.999999), 12*sec, "the factor is in [0.5, 1.5)")

	p.Strategy = Linear
	require.Equal(t, []window{
		{1 * sec, 500 * ms, 1500 * ms},
		{2 * sec, 1 * sec, 3 * sec},
		{3 * sec, 1500 * ms, 4500 * ms},
	}, windows(p, 3))

	p.Strategy = Fixed
	require.Equal(t, []window{
		{1 * sec, 500 * ms, 1500 * ms},
		{1 * sec, 500 * ms, 1500 * ms},
	}, windows(p, 2))
}

func TestContentionPolicyIsItsTable(t *testing.T) {
	p := mustNamed(t, "contention")
	require.Equal(t, 6, p.MaxRetries, "seven attempts, the first included")
	require.Equal(t, []window{
		{10 * ms, 10 * ms, 15 * ms},
		{20 * ms, 20 * ms, 30 * ms},
		{40 * ms, 40 * ms, 60 * ms},
		{80 * ms, 80 * ms, 120 * ms},
		{160 * ms, 160 * ms, 240 * ms},
		{320 * ms, 320 * ms, 480 * ms},
		{640 * ms, 640 * ms, 960 * ms}, // 640 + 320: the cap of 1 s is not reached
		{640 * ms, 640 * ms, 960 * ms}, // the exponent stops at 6
	}, windows(p, 8))

	least, most := total(p)
	require.Equal(t, 630*ms, least)
	require.Equal(t, 945*ms, most)

	p.MaxExponent = 0
	require.Equal(t, window{sec, sec, sec}, windows(p, 8)[7], "without the stop the cap of 1 s is hard")
}

func TestProviderPolicyAndItsTunings(t *testing.T) {
	api := mustNamed(t, "api")
	require.Equal(t, 3, api.MaxRetries)
	require.Equal(t, []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 32 * sec}, plain(api, 7))
	least, most := total(api)
	require.Equal(t, 5600*ms, least, "7 s - 20 %")
	require.Equal(t, 8400*ms, most, "7 s + 20 %")
	require.Equal(t, 38400*ms, api.Delay(7, 1), "jitter may pass the cap: it is not hard")
	require.Equal(t, 950*ms, api.Delay(1, 0.375).Round(ms), "1 s × 0.95")
	require.Equal(t, 2240*ms, api.Delay(2, 0.8).Round(ms), "2 s × 1.12")
	require.Equal(t, 3480*ms, api.Delay(3, 0.175).Round(ms), "4 s × 0.87")

	tests := map[string]struct {
		retries      int
		delays       []time.Duration
		firstWindow  window
		lastInBudget window
	}{
		"interactive":  {2, []time.Duration{500 * ms, 1 * sec, 2 * sec, 4 * sec, 8 * sec, 8 * sec}, window{500 * ms, 400 * ms, 600 * ms}, window{1 * sec, 800 * ms, 1200 * ms}},
		"conservative": {5, []time.Duration{500 * ms, 1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 60 * sec}, window{500 * ms, 400 * ms, 600 * ms}, window{8 * sec, 6400 * ms, 9600 * ms}},
		"batch":        {3, []time.Duration{2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 32 * sec}, window{2 * sec, 1600 * ms, 2400 * ms}, window{8 * sec, 6400 * ms, 9600 * ms}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustNamed(t, name)
			require.Equal(t, tt.retries, p.MaxRetries)
			require.Equal(t, tt.delays, plain(p, len(tt.delays)))
			all := windows(p, p.MaxRetries)
			require.Equal(t, tt.firstWindow, all[0])
			require.Equal(t, tt.lastInBudget, all[len(all)-1])
		})
	}
}

func TestOutagePolicyIsEndedByATime(t *testing.T) {
	p := mustNamed(t, "outage")
	require.Equal(t, []time.Duration{30 * sec, 60 * sec, 120 * sec, 240 * sec, 480 * sec, 900 * sec, 900 * sec}, plain(p, 7))
	require.Equal(t, window{900 * sec, 720 * sec, 1080 * sec}, windows(p, 7)[6], "±20 %")
	require.False(t, p.Spent(1000, 12*time.Hour-1), "no number of tries ends it")
	require.True(t, p.Spent(1, 12*time.Hour))
	require.False(t, p.Spent(0, 100*time.Hour), "it is tried once at least")
	p.MaxRetries = 3
	require.True(t, p.Spent(3, 0), "whichever comes first")
}

func TestTaskPolicyIsItsSchedule(t *testing.T) {
	p := mustNamed(t, "task")
	require.Equal(t, 3, p.MaxRetries)
	for i, want := range []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec} {
		require.Equal(t, window{want, want, want}, windows(p, 6)[i], "no jitter")
	}
}

func TestEveryBuiltInPolicyIsValidAndKnownByName(t *testing.T) {
	require.Equal(t, []string{
		"default", "interactive", "conservative", "batch", "api", "task", "contention", "outage", "workflow",
	}, Names())
	for _, name := range Names() {
		require.Empty(t, mustNamed(t, name).Validate(), name)
	}
	_, ok := Named("Default")
	require.False(t, ok)
}
