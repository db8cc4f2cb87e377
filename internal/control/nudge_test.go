package control_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

func TestAHookTellsWhereToLookAndNoMoreThanAnAgentWould(t *testing.T) {
	d := &daemon{}
	client := control.NewClient(serve(t, d))
	told := control.HookEvent{Agent: "claude-code", Session: "s-1", Transcript: "/home/p/a b&c=d.jsonl"}
	require.NoError(t, client.SendHookEvent(t.Context(), told))
	require.NoError(t, client.SendHookEvent(t.Context(), control.HookEvent{Agent: "codex", Session: "s-2"}))
	require.Equal(t, []control.HookEvent{told, {Agent: "codex", Session: "s-2"}}, d.nudged)

	long := strings.Repeat("x", 5000)
	for _, hostile := range []control.HookEvent{
		{Agent: "codex"},
		{Agent: "codex", Session: long},
		{Agent: long, Session: "s-1"},
		{Agent: "codex", Session: "s-1", Transcript: "/" + long},
	} {
		require.Error(t, client.SendHookEvent(t.Context(), hostile))
	}
	require.Len(t, d.nudged, 2)
}
