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
	quotedEventName = []byte(`"event.name"`)
	quotedAPIError  = []byte(`"` + apiError + `"`)
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

// siftNote judges what Qwen Code notes for itself. Most of it is telemetry, and
// that begins with what happened.
func siftNote(line []byte) agent.Weight {
	kind, known := agent.TextAtEnds(line, "subtype")
	if known && string(kind) != "ui_telemetry" && string(kind) != "rewind" {
		return agent.Nothing
	}
	if at := bytes.Index(agent.Head(line), quotedEventName); at >= 0 {
		line = agent.Head(line[at:])
	}
	if bytes.Contains(line, quotedAPIError) || bytes.Contains(line, quotedRewind) {
		return agent.Matters
	}
	return agent.Nothing
}

// siftWhole looks through a line whose ends do not tell what it is.
func siftWhole(line []byte) agent.Weight {
	switch {
	case bytes.Contains(line, quotedAPIError), bytes.Contains(line, quotedRewind):
		return agent.Matters
	case bytes.Contains(line, quotedAssistant) && !bytes.Contains(line, quotedUser):
		return agent.Moves
	case bytes.Contains(line, quotedUser) && !bytes.Contains(line, quotedResult):
		return agent.Matters
	default:
		return agent.Nothing
	}
}
