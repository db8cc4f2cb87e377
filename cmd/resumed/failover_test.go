package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

// busyClaude stands in for a Claude Code with an overloaded model: it uses the fallback model if it is
// given one.
const busyClaude = `#!/bin/sh
echo "$*" >> "$HOME/calls"
now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
say() { printf '{"type":"%%s","sessionId":"%[1]s","cwd":"%[2]s","timestamp":"%%s",%%s}\n' "$1" "$now" "$2" >> "$HOME/%[3]s"; }
say user '"permissionMode":"default","message":{"role":"user","content":"continue"}'
say system '"subtype":"model_fallback","originalModel":"claude-opus-5-5","fallbackModel":"claude-sonnet-5-5"'
say assistant '"requestedModel":"claude-sonnet-5-5","message":{"model":"claude-sonnet-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"That is all."}]}'
`

// stoppedBy is a session of Claude Code with opus that was stopped by an error with that status.
func stoppedBy(cwd string, status int, text string) string {
	return transcriptLine(claudeSession, cwd, time.Now(), map[string]any{
		"type": "user", "permissionMode": "default", "message": map[string]any{"role": "user", "content": "work"},
	}) + transcriptLine(claudeSession, cwd, time.Now(), map[string]any{
		"type": "assistant", "requestedModel": "claude-opus-5-5", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "content": []any{map[string]any{"type": "text", "text": "I begin."}},
		},
	}) + transcriptLine(claudeSession, cwd, time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "server_error", "apiErrorStatus": status,
		"message": map[string]any{"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": text}}},
	})
}

// swiftly has almost no waits, and reports all events.
func swiftly(hook *hook) string {
	return quickly(hook) + "events = [\"retrying\", \"recovered\"]\n" +
		"[[backoff.policy]]\nname = \"soon\"\nclasses = [\"overloaded\"]\n[[agent]]\nname = \"claude-code\"\nfallback_model = \"sonnet\"\n"
}

func TestAfterAnOverloadTheModelThatWasWrittenDownGoesOn(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, swiftly(hook))
	b.write("bin/claude", fmt.Sprintf(busyClaude, claudeSession, b.path("bot"), claudeTranscript))
	out, _, code := b.run("config", "check")
	require.Zero(t, code)
	require.Contains(t, out, "claude-code: after an overload a resume may use the model sonnet")
	out, _, _ = b.run("doctor")
	require.Contains(t, out, "after an overload a resume may use the model sonnet")

	b.write(claudeTranscript, stoppedBy(b.path("bot"), 529, "API Error: 529 Overloaded."))
	out, _, _ = b.run("explain", b.path(claudeTranscript))
	require.Contains(t, out, "with sonnet if claude-opus-5-5 is still overloaded (fallback_model)")
	b.start()
	recovered := func() string { // a quick agent moves before its start is recorded
		for _, notice := range hook.got() {
			if notice.Event == notify.Recovered {
				return notice.Text
			}
		}
		return ""
	}
	b.until("it is well again", func() bool { return recovered() != "" })
	require.Contains(t, b.read("calls"), "--model claude-opus-5-5 --fallback-model sonnet continue\n", "its own is tried first")

	const instead = "with claude-sonnet-5-5 instead of claude-opus-5-5 (fallback_model)"
	s := b.session(claudeSession)
	require.Equal(t, resume.Watching, s.State)
	require.Contains(t, s.Reason, instead)
	require.Equal(t, "claude-sonnet-5-5", s.Past[0].Model)
	require.Equal(t, "sonnet", s.Past[0].Fallback)
	b.until("the history has both", func() bool {
		history, _, _ := b.run("history", claudeSession)
		return strings.Contains(history, "with sonnet if claude-opus-5-5 is still overloaded") && strings.Contains(history, instead)
	})
	require.Contains(t, recovered(), "it continues with claude-sonnet-5-5 (fallback_model)")

	// It uses its own model again after a limit.
	b.appendTo(claudeTranscript, refusalLine(claudeSession, b.path("bot")))
	b.until("it is resumed once more", func() bool { return strings.Count(b.read("calls"), " continue\n") == 2 })
	require.Contains(t, b.read("calls"), "--model claude-opus-5-5 continue\n")
}
