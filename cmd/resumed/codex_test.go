package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

const codexSession = "01a1dc7f-d50d-70c2-94be-ec6581ff1fdd"

// codexRollout is the path of that session: it contains the day it began.
const codexRollout = ".codex/sessions/2026/11/14/rollout-2026-11-14T23-58-47-" + codexSession + ".jsonl"

// shiftRollout shifts a rollout that Codex 0.166 wrote at a usage limit: it was written now, in that
// directory, and its limit resets at reset.
func shiftRollout(t *testing.T, reset time.Time, cwd string) string {
	data, err := os.ReadFile(filepath.Join("testdata", "codex-usage-limit.jsonl"))
	require.NoError(t, err)
	text := regexp.MustCompile(`(?m)^\{"timestamp":"[^"]+"`).ReplaceAllString(string(data),
		`{"timestamp":"`+time.Now().UTC().Format("2006-01-02T15:04:05.000Z")+`"`)
	text = regexp.MustCompile(`("used_percent":100\.0,"window_minutes":300,"resets_at":)\d+`).ReplaceAllString(text,
		"${1}"+strconv.FormatInt(reset.Unix(), 10))
	return strings.ReplaceAll(text, "/home/dev/src", cwd)
}

// A file that does not name its session cannot be continued.
func TestASessionThatCannotBeNamedIsLeftAlone(t *testing.T) {
	b := newBox(t)
	whole := shiftRollout(t, time.Now().Add(2*time.Hour), b.path("bot"))
	_, beheaded, _ := strings.Cut(whole, "\n")
	b.write(filepath.Join(filepath.Dir(codexRollout), "rollout-copy.jsonl"), beheaded)
	b.write(codexRollout, whole)
	b.start()
	b.untilState(codexSession, resume.Waiting)
	require.Len(t, b.status().Sessions, 1)
}

// A transcript that is restored from a backup is as old as its records.
func TestAnOldTranscriptThatAppearsIsLeftAlone(t *testing.T) {
	b := newBox(t)
	b.start()
	const restored = "01a1dc7f-d50d-70c2-94be-ec6581ff1f00"
	old := shiftRollout(t, time.Now().Add(-20*time.Hour), b.path("bot"))
	old = strings.ReplaceAll(old, codexSession, restored)
	old = regexp.MustCompile(`(?m)^\{"timestamp":"[^"]+"`).ReplaceAllString(old,
		`{"timestamp":"`+time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)+`"`)
	b.write(strings.ReplaceAll(codexRollout, codexSession, restored), old)
	b.until("the old one is read", func() bool {
		out, _, _ := b.run("status", "--json", "--all")
		return strings.Contains(out, restored)
	})
	b.write(codexRollout, shiftRollout(t, time.Now().Add(2*time.Hour), b.path("bot")))
	b.untilState(codexSession, resume.Waiting)
	require.Len(t, b.status().Sessions, 1, "the old one was never interrupted before our eyes")
}

// A transcript that is unchanged for months is not opened: old files must not slow down a start. When
// its session continues, that is observed.
func TestATranscriptThatRestedForMonthsIsReadWhenItMoves(t *testing.T) {
	b := newBox(t)
	text := shiftRollout(t, time.Now().Add(2*time.Hour), b.path("bot"))
	b.write(codexRollout, text)
	old := time.Now().Add(-60 * 24 * time.Hour)
	require.NoError(t, os.Chtimes(b.path(codexRollout), old, old))
	b.start()
	b.until("all that lies there was read", func() bool { return strings.Contains(b.logged(), "codex: none") })
	require.Empty(t, b.status().Sessions)

	_, turn, _ := strings.Cut(text, "\n")
	b.appendTo(codexRollout, turn)
	b.untilState(codexSession, resume.Waiting)
}

func TestCodexUsageLimitWaitsForItsReset(t *testing.T) {
	b := newBox(t)
	b.start()
	reset := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	b.write(codexRollout, shiftRollout(t, reset, b.path("bot")))

	s := b.untilState(codexSession, resume.Waiting)
	require.Equal(t, "codex", s.Agent)
	require.Equal(t, "codex:default", s.Account)
	require.Equal(t, limit.UsageLimit, s.Class)
	require.True(t, reset.Equal(*s.ResetAt), s.ResetAt)
	require.Equal(t, time.Minute, s.NextAt.Sub(reset), "the margin")
	require.Equal(t, b.path("bot"), s.Cwd)
	require.Equal(t, 1, s.Windows)

	b.write("elsewhere.jsonl", b.read(codexRollout))
	out, errOut, code := b.run("explain", "--json", b.path("elsewhere.jsonl"))
	require.Zero(t, code, errOut)
	var x map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &x))
	require.Equal(t, "codex", x["agent"], "it is recognised wherever it lies")
	require.Equal(t, codexSession, x["session"])
	require.Equal(t, "usage_limit", x["class"])
	require.Equal(t, "structured", x["reset_source"])
	require.Equal(t, "wait", x["action"])
}

// codexStandIn records its arguments, and answers.
const codexStandIn = `#!/bin/sh
{ pwd; printf '%s\n' "$@"; } >> "$HOME/calls"
now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
cat >> "$HOME/` + codexRollout + `" <<EOF
{"timestamp":"$now","type":"event_msg","payload":{"type":"task_started","turn_id":"t2"}}
{"timestamp":"$now","type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage"}}}
{"timestamp":"$now","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
{"timestamp":"$now","type":"event_msg","payload":{"type":"task_complete","turn_id":"t2","last_agent_message":"Done."}}
EOF
`

func TestCodexSessionIsContinuedOnceWithTheSettingsItHad(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\n")
	b.write("bin/codex", codexStandIn)
	b.start()
	reset := time.Now().Add(2 * time.Second).Truncate(time.Second)
	b.write(codexRollout, shiftRollout(t, reset, b.path("bot")))

	b.untilState(codexSession, resume.Waiting)
	after := b.untilState(codexSession, resume.Watching)
	require.False(t, time.Now().Before(reset), "nothing is sent before the reset")
	require.Empty(t, after.Attempts, "movement forgives")
	require.Equal(t, []string{
		b.path("bot"),
		"exec", "-C", b.path("bot"), "-s", "danger-full-access", "-c", `approvals_reviewer="user"`, "-m", "gpt-5.1-codex", "-c", `model_provider="fake"`,
		"--skip-git-repo-check", "resume", codexSession, "continue",
	}, strings.Split(strings.TrimSpace(b.read("calls")), "\n"))
}

// Codex compresses the rollout of a session that was silent for a week, and unpacks it to continue. A
// weekly limit is as long.
func TestACodexSessionIsContinuedFromItsCompressedRollout(t *testing.T) {
	b := newBox(t)
	b.write(configFile, "[resume]\nmargin = \"0s\"\nunseen = \"same_mode\"\n")
	b.write("bin/codex", strings.Replace(codexStandIn, "{ pwd", `[ "$1" != --version ] || exit # doctor asks
mv "$HOME/plain" "$HOME/`+codexRollout+`"; rm "$HOME/`+codexRollout+`.zst"
{ pwd`, 1))
	text := shiftRollout(t, time.Now().Add(time.Hour), b.path("bot"))
	b.write(codexRollout, text)
	b.start()
	b.untilState(codexSession, resume.Waiting)

	b.write("plain", text)
	b.write(codexRollout+".zst", agenttest.Packed(t, text))
	require.NoError(t, os.Remove(b.path(codexRollout)))
	out, _, _ := b.run("doctor")
	require.Contains(t, out, "1 transcript is compressed and not watched, such as "+b.path(codexRollout)+".zst")
	for _, name := range []string{b.path(codexRollout) + ".zst", codexSession} {
		out, errOut, code := b.run("explain", "--json", name)
		require.Zero(t, code, errOut)
		require.Contains(t, out, `"class":"usage_limit"`)
		require.Contains(t, out, `"session":"`+codexSession+`"`)
		require.Contains(t, out, `"file":"`+b.path(codexRollout), "as its user knows it")
	}
	b.write("broken.jsonl.zst", "not compressed")
	_, errOut, code := b.run("explain", b.path("broken.jsonl.zst"))
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "unpack "+b.path("broken.jsonl.zst"))
	_, errOut, code = b.run("retry", "--now", codexSession)
	require.Zero(t, code, errOut)
	b.untilState(codexSession, resume.Watching)
	require.Contains(t, b.read("calls"), "\nresume\n"+codexSession+"\ncontinue\n")
	require.Contains(t, b.read("calls"), "danger-full-access", "the settings of its last turn")

	left, err := filepath.Glob(b.path("tmp/resumed-rollout-*"))
	require.NoError(t, err)
	require.Empty(t, left, "no copy of the conversation stays")
}

func TestACodexSessionThatNobodySawBeginWaitsForItsUsersWord(t *testing.T) {
	b := newBox(t)
	b.vars = append(b.vars, "RESUMED_RESUME_UNSEEN=park")
	b.write(configFile, "[resume]\nmargin = \"0s\"\n")
	b.write("bin/codex", codexStandIn)
	b.start()
	b.write(codexRollout, shiftRollout(t, time.Now().Add(2*time.Second), b.path("bot")))
	parked := b.untilState(codexSession, resume.Parked)
	require.Contains(t, parked.Reason, "its start was not seen")
	require.NoFileExists(t, b.path("calls"))

	_, errOut, code := b.run("retry", codexSession)
	require.Zero(t, code, errOut)
	b.untilState(codexSession, resume.Watching)
	require.Contains(t, b.read("calls"), "danger-full-access")
}

// A thread that works for another one meets the limit by itself. It is told, and never resumed itself.
func TestAStoppedThreadOfCodexIsToldWithItsSession(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook))
	b.write("bin/codex", callsOnly)
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	whole := shiftRollout(t, time.Now().Add(time.Hour), b.path("bot"))
	head, _, _ := strings.Cut(whole, "\n")
	b.write(codexRollout, head+`
{"timestamp":"`+now+`","type":"event_msg","payload":{"type":"user_message","message":"go"}}
{"timestamp":"`+now+`","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"`+now+`","type":"event_msg","payload":{"type":"task_complete","last_agent_message":"Two agents work on it."}}
`)
	b.start()
	const child = "01a1dc7f-d50d-70c2-94be-ec6581ff1f02"
	thread := strings.Replace(strings.ReplaceAll(whole, codexSession, child), `"payload":{`, `"payload":{"parent_thread_id":"`+codexSession+`","agent_role":"explorer","agent_nickname":"Ada",`, 1)
	b.write(".codex/sessions/"+time.Now().Format("2006/01/02")+"/rollout-x-"+child+".jsonl", thread)
	b.until("it is told", func() bool { return len(b.session(codexSession).Subagents) == 1 })
	s := b.session(codexSession)
	require.Equal(t, resume.Watching, s.State)
	require.Contains(t, s.Reason, "1 subagent was stopped by usage limit: Ada (explorer); the session itself was not stopped")
	b.until("a person is told", func() bool { return len(hook.got()) == 1 })
	require.Contains(t, hook.got()[0].Text, "1 subagent was stopped by usage limit: Ada (explorer)")
	require.Empty(t, b.session(child).ID)
	require.NoFileExists(t, b.path("calls"))
}
