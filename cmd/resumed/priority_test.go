package main

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// tracingClaude records where it was continued, and answers.
const tracingClaude = `#!/bin/sh
pwd >> "$HOME/trace"
id=$(printf '%s' "$*" | grep -o '[0-9a-f]\{8\}-[0-9a-f-]\{27\}')
now=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
sed "s/WHEN/$now/" "$HOME/answers/$id" >> "$HOME/.claude/projects/-src/$id.jsonl"
`

// When a window opens, the sessions start by the rank of their directory, then by smaller context, then
// by the time they were stopped.
func TestWhoGoesFirstWhenAWindowOpens(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct{ config, want string }{
		"without a wish": {"", "small large old late release"},
		"by directory":   {"[[resume.priority]]\ndir = %[1]q\nrank = 1\n[[resume.priority]]\ndir = %[2]q\nrank = 2\n", "release old small large late"},
	} {
		t.Run(rule, func(t *testing.T) {
			b := newBox(t)
			rank := ""
			if c.config != "" {
				rank = fmt.Sprintf(c.config, b.path("src/release"), b.path("src/old"))
			}
			b.write(configFile, fmt.Sprintf(inBackoff, "10ms")+"[resume]\nmax_concurrent = 1\nstagger = \"0s\"\n"+rank)
			b.write("bin/claude", tracingClaude)
			b.start()
			_, errOut, code := b.run("pause")
			require.Zero(t, code, errOut)
			for i, s := range []struct {
				name   string
				tokens int
			}{{"old", 0}, {"large", 9000}, {"small", 100}, {"late", 0}, {"release", 0}} {
				b.stopped(fmt.Sprintf("0b6b1a62-1f8e-4a3b-9d5b-0a6de1f3c0%02d", i), "src/"+s.name, s.tokens, time.Now().Add(time.Duration(i-10)*time.Second))
			}
			_, errOut, code = b.run("unpause")
			require.Zero(t, code, errOut)
			b.until("all are continued", func() bool { return strings.Count(b.read("trace"), "\n") == 5 })
			var order []string
			for dir := range strings.Lines(b.read("trace")) {
				order = append(order, path.Base(strings.TrimSpace(dir)))
			}
			require.Equal(t, strings.Fields(c.want), order)
		})
	}
}

// stopped makes a session of Claude Code that was stopped at that time, and waits until its size is
// known.
func (b *box) stopped(id, dir string, tokens int, at time.Time) {
	b.t.Helper()
	cwd := b.path(dir)
	b.write(dir+"/README", "")
	text := transcriptLine(id, cwd, at.Add(-time.Minute), map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "go"}})
	if tokens > 0 {
		text += transcriptLine(id, cwd, at.Add(-time.Second), map[string]any{"type": "assistant", "message": map[string]any{
			"role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use", "usage": map[string]any{"input_tokens": tokens},
			"content": []any{map[string]any{"type": "text", "text": "on it"}},
		}})
	}
	answer := answerLine(id, cwd, "Done.")
	stamp := answer[strings.Index(answer, `"timestamp":"`)+len(`"timestamp":"`):]
	b.write("answers/"+id, strings.Replace(answer, stamp[:strings.Index(stamp, `"`)], "WHEN", 1))
	refusal := transcriptLine(id, cwd, at, map[string]any{
		"type": "assistant", "isApiErrorMessage": true, "error": "rate_limit", "apiErrorStatus": 429, "apiErrorType": "rate_limit_error",
		"message": map[string]any{"role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": "API Error: Request rejected (429)"}}},
	})
	b.write(".claude/projects/-src/"+id+".jsonl", text+refusal)
	b.until("it waits, and is weighed", func() bool {
		s := b.session(id)
		return s.State == resume.Waiting && (tokens == 0 || s.Context != nil)
	})
}
