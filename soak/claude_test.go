package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"resumed/internal/agent/claude/claudetest"
)

func claudeID(n int) string { return fmt.Sprintf("0b6b1a62-1f8e-4a3b-9d5b-%012d", n) }

func transcript(id string) string { return ".claude/projects/-src/" + id + ".jsonl" }

// claudeTurn is what Claude Code writes of a prompt and its answer, and of what came then.
func claudeTurn(id, cwd, prompt string, then ...map[string]any) string {
	answer := claudetest.Said("claude-opus-5-5", "Yes.")
	answer["stop_reason"] = "end_turn"
	records := append([]map[string]any{
		claudetest.Asked(map[string]any{"permissionMode": "default"}, prompt),
		claudetest.Record(map[string]any{"type": "assistant", "message": answer}),
	}, then...)
	var lines strings.Builder
	for _, record := range records {
		maps.Copy(record, map[string]any{"sessionId": id, "cwd": cwd, "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")})
		line, err := json.Marshal(record)
		if err != nil {
			panic(err)
		}
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}
