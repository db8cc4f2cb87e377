package opencode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

func TestEveryCapturedSessionIsUnderstood(t *testing.T) {
	t.Parallel()
	for _, c := range captures(t) {
		t.Run(c.Case, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, agent.Options{})
			s := newStore(t, a.homes.Roots[0])
			s.add(loadRows(t, c.File))
			found, err := a.Evidence(s.path)
			require.NoError(t, err)
			require.Len(t, found, 1)
			last := found[0]
			require.Equal(t, resume.Key{Agent: "opencode", ID: c.Session}, last.Key)
			require.Equal(t, c.Cwd, last.Cwd)
			require.Equal(t, s.path, last.Transcript)
			require.NotEmpty(t, last.Account)
			if c.shows() {
				requireMeaning(t, c, last.Event)
			} else {
				require.IsType(t, resume.Cancelled{}, last.Event, "the retry that it waited in is in no row")
			}
		})
	}
}

func requireMeaning(t *testing.T, c captured, event resume.Event) {
	t.Helper()
	switch c.Class {
	case limit.None:
		require.IsType(t, resume.Progressed{}, event)
		return
	case limit.Cancelled:
		require.IsType(t, resume.Cancelled{}, event)
		return
	default:
	}
	got := limited(t, event)
	require.Equal(t, c.Class.String(), got.Class.String(), got.Text)
	require.NotEmpty(t, got.Text)
	waitHelps := c.Class.Transient()
	if c.WaitHelps != nil {
		waitHelps = *c.WaitHelps
	}
	require.Equal(t, waitHelps, got.WaitHelps)
	require.False(t, got.InProgress)
	switch {
	case !c.Reset.IsZero():
		require.WithinDuration(t, c.Reset, got.Reset.At, time.Second, got.Reset.Source)
	case c.Case != "serve_fake_rl_openai_hdr": // its rate limit headers state one
		require.False(t, got.Reset.Stated(), "no time is stated: %v", got.Reset)
	}
}

// The exhausted rate limit header counts, not the one with room.
func TestAGaugeStatesTheReset(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	s.add(loadRows(t, "db/serve_fake_rl_openai_hdr.json"))
	found, err := a.Evidence(s.path)
	require.NoError(t, err)
	got := limited(t, found[0].Event)
	require.Equal(t, time.Date(2026, 11, 15, 0, 6, 37, 0, time.UTC), got.Reset.At, "six minutes by the provider's own clock")
	require.Equal(t, limit.Header, got.Reset.Source)
}
