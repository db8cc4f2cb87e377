package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// largeAnswer is an answer of Claude Code to a long conversation.
func largeAnswer(cwd string, at time.Time) string {
	return transcriptLine(claudeSession, cwd, at, map[string]any{
		"type": "assistant", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use",
			"content": []any{map[string]any{"type": "text", "text": "on it"}},
			"usage":   map[string]any{"input_tokens": 4, "cache_creation_input_tokens": 1996, "cache_read_input_tokens": 178000, "output_tokens": 500},
		},
	})
}

func TestAResumeThatReadsTooMuchAnewWaitsForAPerson(t *testing.T) {
	b := newBox(t)
	b.write(configFile, fmt.Sprintf(inBackoff, "10ms")+"[resume]\nmax_cold_tokens = 100000\non_cold = \"park\"\n")
	b.write("bin/claude", callsOnly)
	b.start()
	hourAgo := time.Now().Add(-time.Hour)
	b.write(claudeTranscript, transcriptLine(claudeSession, b.path("bot"), hourAgo, map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": "go"},
	})+largeAnswer(b.path("bot"), hourAgo)+refusalLine(claudeSession, b.path("bot")))

	parked := b.untilState(claudeSession, resume.Parked)
	require.Regexp(t, "^a resume reads about 180 500 tokens again, more than resume.max_cold_tokens \\(100 000\\); `resumed retry [\\w-]+` continues it anyway$", parked.Reason)
	require.EqualValues(t, 180_500, *parked.Context)
	require.True(t, *parked.Cold)
	require.Empty(t, b.read("calls"))
	out, _, code := b.run("status", claudeSession)
	require.Zero(t, code)
	require.Contains(t, strings.Join(strings.Fields(out), " "), "about 180 500 tokens, read again")

	_, errOut, code := b.run("retry", claudeSession)
	require.Zero(t, code, errOut)
	b.until("it is resumed because a person wants it", func() bool { return b.read("calls") != "" })
}

func TestTheCostOfAResumeIsExplained(t *testing.T) {
	b := newBox(t)
	b.write("chat/"+claudeSession+".jsonl", largeAnswer(b.path("bot"), time.Now().Add(-time.Minute))+refusalLine(claudeSession, b.path("bot")))
	out, errOut, code := b.run("explain", "--agent", "claude-code", b.path("chat", claudeSession+".jsonl"))
	require.Zero(t, code, errOut)
	require.Contains(t, out, "about 180 500 tokens, which the provider still has in its cache")
}
