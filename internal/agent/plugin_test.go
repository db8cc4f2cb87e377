package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the real agents pass to the hooks of the plugin, shortened.
func TestWhatAgentsTellTheirHooks(t *testing.T) {
	for name, c := range map[string]struct {
		said     string
		requests bool
		want     HookCall
	}{
		"Claude Code, limit":    {said: `{"session_id":"s","transcript_path":"/t","hook_event_name":"StopFailure","error":"rate_limit","effort":{"level":"medium"}}`, want: HookCall{Session: "s", Transcript: "/t", Answered: true}},
		"Claude Code, waits":    {said: `{"session_id":"s","hook_event_name":"Notification","message":"Claude needs your permission","notification_type":"permission_prompt"}`, want: HookCall{Session: "s", Asks: "permission: Claude needs your permission"}},
		"Claude Code, headless": {said: `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make"}}`, want: HookCall{Session: "s"}},
		"Claude Code, idle":     {said: `{"session_id":"s","hook_event_name":"Notification","notification_type":"idle_prompt"}`, want: HookCall{Session: "s"}},
		"Codex":                 {said: `{"session_id":"s","turn_id":"t","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make","description":"need it"}}`, requests: true, want: HookCall{Session: "s", Asks: "permission: Bash (make)"}},
		"Copilot":               {said: `{"sessionId":"s","timestamp":1794913380683,"message":"Run command: make","title":"Permission needed","hook_event_name":"Notification","notification_type":"permission_prompt"}`, want: HookCall{Session: "s", Asks: "permission: Run command: make"}},
		"Copilot, request":      {said: `{"hookName":"permissionRequest","sessionId":"s","toolName":"bash"}`, want: HookCall{Session: "s"}},
		"Gemini CLI":            {said: `{"session_id":"s","hook_event_name":"Notification","notification_type":"ToolPermission","message":"Tool Confirm Shell Command requires execution","details":{"type":"exec","command":"make"}}`, want: HookCall{Session: "s", Asks: "permission: a tool (make)"}},
		"a strange tool":        {said: `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Edit","tool_input":["x"]}`, requests: true, want: HookCall{Session: "s", Asks: "permission: Edit"}},
		"no JSON":               {said: `no`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, ReadHook([]byte(c.said), c.requests))
		})
	}
}
