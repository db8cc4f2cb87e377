package codex

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent/codex/rollout"
	"resumed/internal/agenttest"
)

// What a compressed rollout says is what the same rollout says as it was.
func TestACompressedRolloutIsReadForAPlan(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	sc := newScene(t, stopped(ran(readOnly, `,"model":"gpt-5"`))...)
	plain, err := sc.agent.Plan(t.Context(), sc.session, "continue")
	require.NoError(t, err)
	require.NotNil(t, plain.Run, "%+v", plain.Skip)

	text, err := os.ReadFile(sc.session.Transcript)
	require.NoError(t, err)
	require.NoError(t, os.Remove(sc.session.Transcript))
	packed := sc.session.Transcript + ".zst"
	require.NoError(t, os.WriteFile(packed, []byte(agenttest.Packed(t, string(text))), 0o600))
	plan, err := sc.agent.Plan(t.Context(), sc.session, "continue")
	require.NoError(t, err)
	require.Equal(t, plain.Run.Argv, plan.Run.Argv)
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.WriteFile(packed, text, 0o600))
	_, err = sc.agent.Plan(t.Context(), sc.session, "continue")
	require.ErrorContains(t, err, "unpack "+packed)

	require.NoError(t, os.Remove(packed))
	gone, err := sc.agent.Plan(t.Context(), sc.session, "continue")
	require.NoError(t, err)
	require.Contains(t, gone.Skip.Why, "the transcript is gone")
}

func TestWhichFilesAreCompressedRollouts(t *testing.T) {
	for rel, want := range map[string]bool{
		"2026/11/15/rollout-x.jsonl.zst":     true,
		"2026/11/15/rollout-x.jsonl":         false,
		"2026/11/15/rollout-x.zst":           false,
		"2026/11/15/rollout-x.jsonl.zst.tmp": false,
		".zst":                               false,
	} {
		require.Equal(t, want, rollout.MatchPacked(rel), rel)
	}
}
