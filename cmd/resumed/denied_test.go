package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

const (
	claudeSession    = "4f2a9c1e-7b1d-4c58-9a60-2f7be3d10c11"
	claudeTranscript = ".claude/projects/-src/" + claudeSession + ".jsonl"
)

// refusalLine is what Claude Code writes when it gives up on a busy provider.
func refusalLine(session, cwd string) string {
	return transcriptLine(session, cwd, time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429, "apiErrorType": "rate_limit_error",
		"message": map[string]any{
			"role": "assistant", "model": "<synthetic>",
			"content": []any{map[string]any{"type": "text", "text": "API Error: Request rejected (429) · This request would exceed your organization's rate limit of 50,000 input tokens per minute."}},
		},
	})
}

// claudeScript stands in for a headless Claude Code: a command that was not allowed ends its turn, and
// its exit code is 0 nevertheless.
const claudeScript = `#!/bin/sh
echo "$*" >> "$HOME/calls"
now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
say() { printf '{"type":"%%s","sessionId":"%[1]s","cwd":"%[2]s","timestamp":"%%s",%%s}\n' "$1" "$now" "$2" >> "$HOME/%[3]s"; }
say user '"message":{"role":"user","content":"continue"}'
say assistant '"message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make deploy"}}]}'
if [ -e "$HOME/allowed" ]; then
	say user '"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"deployed"}]}'
else
	say user '"toolDenialKind":"user-rejected","message":{"content":[{"type":"tool_result","is_error":true,"tool_use_id":"t1","content":"This command requires approval"}]}'
fi
sleep 0.5 # it is seen to have moved
say assistant '"message":{"model":"m","content":[{"type":"text","text":"That is all."}]}'
`

func quickly(hook *hook) string {
	return fmt.Sprintf("[backoff]\nbase_delay = \"200ms\"\njitter = false\n[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = %q\n", hook.URL)
}

// mustBeDenied checks what a person sees of a resume that was denied something.
func (b *box) mustBeDenied(hook *hook, id, what string) {
	b.t.Helper()
	parked := b.untilState(id, resume.Parked)
	require.Contains(b.t, parked.Reason, "was refused permission to use "+what)
	require.Len(b.t, parked.Attempts, 1)
	require.Equal(b.t, resume.Denied, parked.Attempts[0].Outcome)
	require.Equal(b.t, parked.Reason, parked.Attempts[0].Error)
	require.NotNil(b.t, parked.Attempts[0].EndedAt)
	require.Nil(b.t, parked.NextAt, "it is not tried again blindly")

	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	notice := hook.got()[0]
	require.Equal(b.t, notify.Parked, notice.Event)
	require.Contains(b.t, notice.Text, what)
	history, _, _ := b.run("history", id, "--json")
	require.Contains(b.t, history, `"outcome":"denied"`)
	require.Contains(b.t, history, what)
}

func TestADeniedPermissionIsToldOnceAndRetriedOnOrder(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook))
	b.write("bin/claude", fmt.Sprintf(claudeScript, claudeSession, b.path("bot"), claudeTranscript))
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "deploy it")+refusalLine(claudeSession, b.path("bot")))

	b.mustBeDenied(hook, claudeSession, "Bash (make deploy)")
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.start()
	require.Equal(t, resume.Parked, b.session(claudeSession).State, "a restart changes nothing")
	require.Equal(t, 1, strings.Count(b.read("calls"), "\n"))
	require.Len(t, hook.got(), 1, "it is told once")

	b.write("allowed", "")
	_, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	b.untilState(claudeSession, resume.Watching)
	b.until("the agent is done", func() bool { return strings.Count(b.read(claudeTranscript), "That is all.") == 2 })
	b.untilOver(claudeSession)
	require.Equal(t, 2, strings.Count(b.read("calls"), "\n"))
}

// The outcome of a run is reported also by a daemon that did not observe its end.
func TestADenialIsFoundAfterTheDaemonWasAway(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook))
	b.write("bin/claude", fmt.Sprintf(claudeScript, claudeSession, b.path("bot"), claudeTranscript))
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "deploy it")+refusalLine(claudeSession, b.path("bot")))
	b.until("the run has begun", func() bool { return b.read("calls") != "" })
	b.kill(syscall.SIGKILL)
	b.untilExited(claudeSession)
	b.start()
	b.mustBeDenied(hook, claudeSession, "Bash (make deploy)")
}

func TestCodexIsRefusedWhatItWouldHaveToAsk(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\n"+quickly(hook))
	b.write("bin/codex", strings.Replace(codexStandIn, `{"timestamp":"$now","type":"response_item"`,
		`{"timestamp":"$now","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make deploy\"}","call_id":"c"}}
{"timestamp":"$now","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"approval policy is Never; reject command"}}
{"timestamp":"$now","type":"response_item"`, 1))
	b.start()
	b.write(codexRollout, shiftRollout(t, time.Now().Add(time.Second).Truncate(time.Second), b.path("bot")))
	b.mustBeDenied(hook, codexSession, "exec_command (make deploy)")
}

func TestOpencodeIsRefusedWhatItWouldHaveToAsk(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook))
	b.write("bin/opencode", opencodeScript)
	b.write("src/app/main.go", "package main\n")
	b.start()
	db := b.opencodeDB()
	db.session("ses_1", "", b.path("src", "app"))
	db.refused("msg_1", "ses_1", 1)
	b.until("opencode is called", func() bool { return b.read("opencode-calls") != "" })
	now := time.Now().UnixMilli()
	db.exec("INSERT INTO message VALUES ('msg_2', 'ses_1', ?, ?, ?)", now, now,
		fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":%d},"finish":"tool-calls"}`, now, now+1))
	db.exec("INSERT INTO part VALUES ('prt_1', 'msg_2', 'ses_1', ?, ?, ?)", now, now,
		`{"type":"tool","tool":"bash","state":{"status":"error","input":{"command":"make deploy"},"error":"The user rejected permission to use this specific tool call."}}`)
	b.untilState("ses_1", resume.Watching)
	b.write("answered", "")
	b.mustBeDenied(hook, "ses_1", "bash (make deploy)")
}
