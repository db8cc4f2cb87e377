package qwen

import (
	"bytes"

	"resumed/internal/agent"
)

// Within a JSON string a quote is escaped, so these stand only where the record
// itself has them.
var (
	quotedAssistant = []byte(`"assistant"`)
	quotedUser      = []byte(`"user"`)
	apiErrorQuoted  = []byte(apiError + `"`) // found faster than with both quotes
	quotedRewind    = []byte(`"rewind"`)
	quotedResult    = []byte(`"tool_result"`)
)

// sift passes over bookkeeping and over results of tools.
func sift(line []byte) agent.Weight {
	kind, known := agent.TextAtEnds(line, "type")
	if !known {
		return siftWhole(line)
	}
	switch string(kind) {
	case "assistant":
		return agent.Moves
	case "user":
		if !bytes.Contains(line, quotedResult) {
			return agent.Matters
		}
	case "system":
		return siftNote(line)
	}
	return agent.Nothing
}

// siftNote judges what Qwen Code notes for itself.
func siftNote(line []byte) agent.Weight {
	kind, known := agent.TextAtEnds(line, "subtype")
	failed := (!known || string(kind) == "ui_telemetry") && bytes.Contains(line, apiErrorQuoted)
	if failed || string(kind) == "rewind" || !known && bytes.Contains(line, quotedRewind) {
		return agent.Matters
	}
	return agent.Nothing
}

// siftWhole looks through a line whose ends do not tell what it is.
func siftWhole(line []byte) agent.Weight {
	switch {
	case bytes.Contains(line, apiErrorQuoted), bytes.Contains(line, quotedRewind):
		return agent.Matters
	case bytes.Contains(line, quotedAssistant) && !bytes.Contains(line, quotedUser):
		return agent.Moves
	case bytes.Contains(line, quotedUser) && !bytes.Contains(line, quotedResult):
		return agent.Matters
	default:
		return agent.Nothing
	}
}
