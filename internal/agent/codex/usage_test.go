package codex

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/usage"
)

func TestWhatCodexWasToldOfTheWeek(t *testing.T) {
	a, err := New(Options{})
	require.NoError(t, err)
	for rule, c := range map[string]struct {
		primary, secondary string
		used               float64
	}{
		"the second window":      {`{"used_percent":42.5,"window_minutes":300,"resets_at":1794705384}`, `{"used_percent":61.0,"window_minutes":10080,"resets_at":1795000000}`, 61},
		"the first on some plan": {`{"used_percent":12.0,"window_minutes":10080,"resets_at":1795000000}`, `null`, 12},
		"none":                   {`{"used_percent":42.5,"window_minutes":300,"resets_at":1794705384}`, `null`, 0},
		"nothing":                {`null`, `null`, 0},
	} {
		t.Run(rule, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rollout.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(`{"timestamp":"2026-11-14T10:00:00.000Z","type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":`+
				c.primary+`,"secondary":`+c.secondary+`}}}`+"\n"), 0o600))
			got, known, err := a.Usage(t.Context(), resume.Session{Transcript: path})
			require.NoError(t, err)
			require.Equal(t, c.used > 0, known)
			require.InDelta(t, c.used, got.WeekUsed, 0.01)
			if known {
				require.Equal(t, time.Unix(1795000000, 0).UTC(), got.WeekResetsAt.UTC())
			}
		})
	}
	got, known, err := a.Usage(t.Context(), resume.Session{Transcript: "testdata/rollouts/400_context.rollout.jsonl"})
	require.NoError(t, err)
	require.True(t, known)
	require.InDelta(t, 61, got.WeekUsed, 0.01)
	require.False(t, got.At.IsZero())
}

func TestWhatCodexWasToldOfEachWindow(t *testing.T) {
	a, err := New(Options{})
	require.NoError(t, err)
	all, err := a.Readings(t.Context(), resume.Session{Transcript: "testdata/rollouts/400_context.rollout.jsonl"})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	kinds := map[string]float64{}
	for _, r := range all {
		kinds[r.Kind] = r.Used
		require.True(t, r.ResetsAt.After(r.At))
	}
	require.InDelta(t, 61, kinds[usage.SevenDays], 0.01)
	require.Contains(t, kinds, usage.FiveHours)

	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"timestamp":"2026-11-14T10:00:00.000Z","type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":`+
		`{"used_percent":1e300,"window_minutes":1e300,"resets_at":1e300},"secondary":{"used_percent":1,"window_minutes":-5,"resets_at":1794705384}}}}`+"\n"), 0o600))
	all, err = a.Readings(t.Context(), resume.Session{Transcript: path})
	require.NoError(t, err)
	require.False(t, usage.NewMeters(nil).Add("a", time.Now(), all...), "what cannot be true")
}
