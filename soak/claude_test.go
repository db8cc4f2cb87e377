package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// What Claude Code writes, as far as the daemon reads it.

func claudeID(n int) string { return fmt.Sprintf("0b6b1a62-1f8e-4a3b-9d5b-%012d", n) }

func transcript(id string) string { return ".claude/projects/-src/" + id + ".jsonl" }

func claudeAsked(text string) map[string]any {
	return map[string]any{"type": "user", "permissionMode": "default", "message": map[string]any{"role": "user", "content": text}}
}

func claudeSaid(model, text string) map[string]any {
	return map[string]any{"type": "assistant", "message": map[string]any{
		"role": "assistant", "model": model, "stop_reason": "end_turn", "content": []any{map[string]any{"type": "text", "text": text}},
	}}
}

func claudeLines(id, cwd string, records ...map[string]any) string {
	var lines strings.Builder
	for _, r := range records {
		line := map[string]any{
			"sessionId": id, "cwd": cwd, "version": "2.1.325", "isSidechain": false, "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		maps.Copy(line, r)
		data, err := json.Marshal(line)
		if err != nil {
			panic(err)
		}
		lines.Write(append(data, '\n'))
	}
	return lines.String()
}
