package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/notify"
	"resumed/internal/resume"
)

// What a person has to do is described in the same words everywhere: in the notice, in status, in JSON,
// and in explain of the file.
func TestWhatAPersonHasToDoIsSaidEverywhere(t *testing.T) {
	const signIn = "sign in: run claude and type /login"
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook))
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+transcriptLine(claudeSession, b.path("bot"), time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "authentication_failed", "apiErrorStatus": 401,
		"message": map[string]any{
			"role": "assistant", "model": "<synthetic>",
			"content": []any{map[string]any{"type": "text", "text": "Not logged in · Please run /login"}},
		},
	}))
	parked := b.untilState(claudeSession, resume.Parked)
	require.Equal(t, limit.Auth, parked.Class)
	require.Equal(t, "sign-in needed, waiting does not help: Not logged in · Please run /login", parked.Reason)
	require.Equal(t, signIn, parked.Remedy)

	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	notice := hook.got()[0]
	require.Equal(t, notify.Parked, notice.Event)
	require.Equal(t, "bot: Claude Code needs you (sign-in needed)", notice.Title)
	require.Regexp(t, "^Not logged in · Please run /login\n.*/bot on .*, stopped at .*\nSign in: run claude and type /login, then: resumed retry "+claudeSession+"$", notice.Text)

	out, errOut, code := b.run("status", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, out, signIn)
	require.Contains(t, out, "sign-in needed")
	out, errOut, code = b.run("explain", b.path(claudeTranscript))
	require.Zero(t, code, errOut)
	require.Contains(t, out, signIn)
	b.kill(9)
	out, _, code = b.run("status", claudeSession)
	require.Equal(t, exitNoDaemon, code)
	require.Contains(t, out, signIn, "also without a daemon")
}

// A limit of one model is no limit of the account: with another model the session continues at once.
func TestALimitOfOneModelIsToldWithItsRemedy(t *testing.T) {
	const remedy = "the limit is for Opus alone: to continue now, open it and type /model sonnet"
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook)+"events = [\"limited\"]\n")
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+strings.Replace(
		usageLimitLine(claudeSession, b.path("bot"), time.Now(), time.Now().Add(time.Hour)), "your session limit", "your Opus limit", 1))
	waits := b.untilState(claudeSession, resume.Waiting)
	require.Equal(t, limit.UsageLimit, waits.Class)
	require.Equal(t, remedy, waits.Remedy)
	require.Nil(t, waits.Needs, "it continues by itself")
	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	require.Contains(t, hook.got()[0].Text, "The limit is for Opus alone: to continue now, open it and type /model sonnet")
	for _, args := range [][]string{{"status"}, {"status", claudeSession}, {"explain", b.path(claudeTranscript)}} {
		out, errOut, code := b.run(args...)
		require.Zero(t, code, errOut)
		require.Contains(t, strings.Join(strings.Fields(out), " "), remedy, args)
	}
}
