package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Unknown texts are classified by learned words, and explain names them.
func TestExplainSaysWhichWordsItJudgedBy(t *testing.T) {
	b := newBox(t)
	const line = "Your weekly allowance has been consumed, it is topped up on Monday at 09:00.\n"
	out, errOut, code := b.runWith(line, "explain", "--text", "--at", "2026-11-15T12:00:00Z", "--tz", "UTC")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "usage limit: would be continued when the limit resets, Mon 09:00")
	require.Contains(t, out, `known by the words "`)
	told, _, _ := b.runWith("", "explain", "--text", line, "--at", "2026-11-15T12:00:00Z", "--tz", "UTC")
	require.Equal(t, out, told, "words that are given are read like those from standard input")
	for words, decided := range map[string]string{
		"hello": "no error: nothing would be done", "Please run /login": "waiting does not help, you would be told", "API Error: 529 Overloaded": "would be tried again, with growing waits",
	} {
		out, _, _ = b.run("explain", "--text", words)
		require.Contains(t, out, decided, words)
	}
	for at, decided := range map[string]string{ // what the daemon would do: a time that was a little ago means now
		"01:30": "continued when the limit resets, 02:00:00", "02:00": "continued at once, the limit has reset, 02:00:00",
		"03:30": "continued at once, the limit has reset, 02:00:00", "12:00": "continued when the limit resets, Mon 02:00",
	} {
		out, _, _ = b.run("explain", "--text", "You've hit your 5-hour limit · resets 2am (UTC)", "--at", "2026-11-15T"+at+":00Z")
		require.Contains(t, out, "usage limit: would be "+decided, at)
	}
	out, _, _ = b.runWith(line, "explain", "--text", "--json")
	require.Contains(t, out, `"because":["`)
}

// An unknown failure is tried twice, and then reported with its text.
func TestAFailureThatNobodyUnderstandsIsTriedTwice(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(configFile, quickly(hook)+"[resume]\nsettle = \"300ms\"\n")
	b.write("bin/claude", "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")
	b.start()
	b.write(claudeTranscript, promptLine(claudeSession, b.path("bot"), "go")+transcriptLine(claudeSession, b.path("bot"), time.Now(), map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "unknown",
		"message": map[string]any{
			"role": "assistant", "model": "<synthetic>",
			"content": []any{map[string]any{"type": "text", "text": "The flux capacitor is misaligned"}},
		},
	}))
	gaveUp := b.untilState(claudeSession, resume.GaveUp)
	require.Equal(t, limit.Unknown, gaveUp.Class)
	require.Len(t, gaveUp.Attempts, 2)
	b.until("the notice arrives", func() bool { return len(hook.got()) > 0 })
	require.Contains(t, hook.got()[0].Text, "The flux capacitor is misaligned")
}
