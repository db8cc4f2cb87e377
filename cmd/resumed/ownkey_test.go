package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/notify"
	"resumed/internal/resume"
)

const ownKey = "sk-ant-REDACTED"

// countingClaude stands in for a Claude Code that counts its cost. It records its environment and its
// arguments; if there is a file broke, it stops at its budget.
const countingClaude = `#!/bin/sh
n=$(($(ls "$HOME" | grep -c '^env\.') + 1))
tr '\0' '\n' < /proc/self/environ > "$HOME/env.$n.part" 2>/dev/null || env > "$HOME/env.$n.part"
mv "$HOME/env.$n.part" "$HOME/env.$n"
echo "$*" >> "$HOME/calls"
now=$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)
say() { printf '{"type":"%%s","sessionId":"%[1]s","cwd":"%[2]s","timestamp":"%%s",%%s}\n' "$1" "$now" "$2" >> "$HOME/%[3]s"; }
say user '"permissionMode":"default","message":{"role":"user","content":"continue"}'
say assistant '"requestedModel":"claude-opus-5-5","message":{"model":"claude-opus-5-5","stop_reason":"end_turn","content":[{"type":"text","text":"That is all."}]}'
cost=2.50; [ -e "$HOME/broke" ] && cost=7.00
printf '{"type":"cost-state","sessionId":"%[1]s","totalCostUSD":%%s,"totalAPIDuration":3600000,"totalToolDuration":0}\n' "$cost" >> "$HOME/%[3]s"
[ ! -e "$HOME/broke" ]
`

// outOfAllowance is a session of Claude Code that a usage limit has stopped for that long, with its
// cost so far; less than zero: the cost is unknown.
func outOfAllowance(cwd string, wait time.Duration, cost float64) string {
	text := promptLine(claudeSession, cwd, "work") + answerLine(claudeSession, cwd, "I begin.") + transcriptLine(claudeSession, cwd, time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429,
		"quotaLimits": map[string]any{"status": "rejected", "resetsAt": time.Now().Add(wait).Unix(), "rateLimitType": "five_hour"},
		"message": map[string]any{"role": "assistant", "model": "<synthetic>", "content": []any{
			map[string]any{"type": "text", "text": "You've hit your session limit · resets later"},
		}},
	})
	if cost >= 0 {
		text += transcriptLine(claudeSession, cwd, time.Now(), map[string]any{
			"type": "cost-state", "totalCostUSD": cost, "totalAPIDuration": 1800_000, "totalToolDuration": 0,
		})
	}
	return text
}

func newPayingBox(t *testing.T, cost float64) (*box, *hook) {
	b, hook := newBox(t), newHook(t)
	b.write("my.key", ownKey+"\n")
	require.NoError(t, os.Chmod(b.path("my.key"), 0o600))
	b.write(configFile, quickly(hook)+"events = [\"limited\", \"retrying\", \"recovered\", \"parked\"]\n[log]\nlevel = \"debug\"\n"+
		"[[agent]]\nname = \"claude-code\"\nown_key_file = \"~/my.key\"\nbudget = \"5 USD a session, 20 USD a month\"\n")
	b.write("bin/claude", fmt.Sprintf(countingClaude, claudeSession, b.path("bot"), claudeTranscript))
	b.write(claudeTranscript, outOfAllowance(b.path("bot"), 3*time.Hour, cost))
	return b, hook
}

// told returns the text of the first notice of the event that contains words.
func (h *hook) told(event notify.Event, words string) string {
	for _, notice := range h.got() {
		if notice.Event == event && strings.Contains(notice.Text, words) {
			return notice.Text
		}
	}
	return ""
}

// mustKeepNo checks that no stored file and no output contains the secret.
func (b *box) mustKeepNo(secret string) {
	b.t.Helper()
	require.NotContains(b.t, b.logged(), secret)
	for _, dir := range []string{".local/state/resumed", "runtime", "tmp"} {
		require.NoError(b.t, filepath.WalkDir(b.path(dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(b.t, string(data), secret, path)
			return err
		}))
	}
}

func TestASessionGoesOnWithItsUsersOwnKeyWhereTheySaySo(t *testing.T) {
	b, hook := newPayingBox(t, 1.5)
	out, _, code := b.run("config", "check")
	require.Zero(t, code, out)
	require.Contains(t, out, "for at most 5 USD a session, 20 USD a month")
	const offer = "resumed retry " + claudeSession + " --own-key"
	out, _, _ = b.run("explain", b.path(claudeTranscript))
	require.Contains(t, out, offer, "without a daemon too")
	require.Contains(t, out, "at most 5.00 USD")
	b.start()
	b.untilState(claudeSession, resume.Waiting)

	// All outputs offer it, and it does not happen by itself.
	b.until("what it has cost is known", func() bool { return b.session(claudeSession).OwnKey.AnHour != nil })
	for _, args := range [][]string{{"status"}, {"status", claudeSession}, {"explain", b.path(claudeTranscript)}} {
		out, _, _ := b.run(args...)
		require.Contains(t, out, offer, args)
		require.Contains(t, out, "an estimated 3.00 USD for an hour of work", args)
	}
	b.until("a person is told", func() bool { return hook.told(notify.Limited, offer) != "" })
	_, errOut, code := b.run("retry", claudeSession, "--own-key")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "nobody agreed")
	b.vars = []string{resume.MarkVariable + "=m"}
	_, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Equal(t, exitUsage, code, "an agent does not decide that")
	require.Contains(t, errOut, "an agent may not order this")
	b.vars = nil
	require.Empty(t, b.read("calls"))

	out, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "at most     5.00 USD")
	b.until("it is well again", func() bool { return hook.told(notify.Recovered, "your own key") != "" })
	b.until("its cost is settled", func() bool { return strings.Contains(b.logged(), "a run with your own key is over") })
	require.Contains(t, b.read("env.1"), "ANTHROPIC_API_KEY="+ownKey+"\n")
	require.Contains(t, b.read("calls"), "--max-budget-usd 5.00 continue\n")
	require.NotContains(t, b.read("calls"), ownKey)
	s := b.session(claudeSession)
	require.Equal(t, resume.Watching, s.State)
	require.True(t, s.Past[0].OwnKey)
	require.InDelta(t, 4.0, s.OwnKey.Left, 0.001, "one dollar is spent")
	history, _, _ := b.run("history", claudeSession)
	require.Contains(t, history, "with your own key as you asked")
	b.mustKeepNo(ownKey)
	_, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Equal(t, 1, code, "nothing would come of it")
	require.Contains(t, errOut, "it is not stopped")

	// A later limit does not use the key again.
	b.appendTo(claudeTranscript, promptLine(claudeSession, b.path("bot"), "more")+refusalLine(claudeSession, b.path("bot")))
	b.until("it is resumed once more", func() bool { return b.read("env.2") != "" })
	require.NotContains(t, b.read("env.2"), "ANTHROPIC_API_KEY")
	require.NotContains(t, b.read("env.2"), ownKey)
	require.Equal(t, 1, strings.Count(b.read("calls"), "--max-budget-usd"))
	b.mustKeepNo(ownKey)
}

func TestWhereTheBudgetIsUsedUpTheLimitIsWaitedFor(t *testing.T) {
	b, hook := newPayingBox(t, 1.5)
	b.write("broke", "")
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	_, errOut, code := b.run("retry", claudeSession, "--own-key", "--yes")
	require.Zero(t, code, errOut)
	b.until("a person is told", func() bool { return hook.told(notify.Parked, "own key is no longer used") != "" })
	s := b.session(claudeSession)
	require.Equal(t, resume.Waiting, s.State)
	require.Greater(t, time.Until(*s.NextAt), time.Hour, "for the limit of its account")
	require.False(t, s.OwnKey.Active)
	require.Contains(t, s.OwnKey.Instead, "the budget is used up")
	_, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "the budget is used up (5 USD for a session in a month)")
	require.Equal(t, 1, strings.Count(b.read("calls"), "\n"))
	b.mustKeepNo(ownKey)
}

func TestWhoDoesNotCountGetsNoKey(t *testing.T) {
	b, _ := newPayingBox(t, -1)
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	_, errOut, code := b.run("retry", claudeSession, "--own-key", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "does not record what a session costs")
	b.reconfigure("# nothing\n")
	_, errOut, code = b.run("retry", claudeSession, "--own-key", "--yes")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "own_key_file is not set")
	require.Empty(t, b.read("calls"))
}

// If the daemon dies between the answer and the start, the next one starts the session, once.
func TestAnAnswerSurvivesACrash(t *testing.T) {
	b, hook := newPayingBox(t, 1.5)
	b.start()
	b.untilState(claudeSession, resume.Waiting)
	_, _, code := b.run("pause")
	require.Zero(t, code)
	_, errOut, code := b.run("retry", claudeSession, "--own-key", "--yes")
	require.Zero(t, code, errOut)
	b.kill(syscall.SIGKILL)
	b.start()
	require.True(t, b.session(claudeSession).OwnKey.Active)
	_, _, code = b.run("unpause")
	require.Zero(t, code)
	b.until("it is well again", func() bool { return hook.told(notify.Recovered, "your own key") != "" })
	require.Contains(t, b.read("env.1"), "ANTHROPIC_API_KEY="+ownKey+"\n")
	require.Equal(t, 1, strings.Count(b.read("calls"), "\n"))
	b.mustKeepNo(ownKey)
}
