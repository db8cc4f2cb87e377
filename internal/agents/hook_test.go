package agents

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The agents that share a plugin set these variables for its hooks.
func TestTheSharedPluginKnowsItsAgent(t *testing.T) {
	for want, variables := range map[string][]string{
		"claude-code": {"CLAUDE_PLUGIN_ROOT"},
		"codex":       {"PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"},
		"copilot":     {"PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT"},
		"qwen-code":   {"QWEN_CODE_LAUNCHER_PID"},
	} {
		env := make(map[string]string)
		for _, variable := range variables {
			env[variable] = "/x"
		}
		name, call := ReadHook("plugin", []byte(`{"session_id":"s"}`), func(name string) string { return env[name] })
		require.Equal(t, want, name)
		require.Equal(t, "s", call.Session)
	}
	for _, unknown := range []string{"", "mybot", "kimi"} {
		name, _ := ReadHook(unknown, []byte(`{"session_id":"s"}`), func(string) string { return "" })
		require.Empty(t, name)
	}
}
