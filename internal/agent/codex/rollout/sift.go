package rollout

import (
	"bytes"

	"resumed/internal/agent"
	"resumed/internal/lines"
)

var userMessage = []byte(`"UserMessage"`)

// Sift judges a line by its kind, which is at its beginning. A line of unknown kind must be parsed.
func Sift(line []byte) agent.Weight {
	outer, payload := opening(line)
	switch string(outer) {
	case "event_msg":
		return siftEvent(line, kindOf(payload))
	case "response_item":
		return siftItem(line, payload)
	case "session_meta", turnContext, "world_state", "token_usage_record", "compacted":
		return agent.Nothing
	default:
		return agent.Matters
	}
}

// siftItem judges an item of the conversation.
func siftItem(line, payload []byte) agent.Weight {
	kind := kindOf(payload)
	switch {
	case len(kind) == 0:
		return agent.Matters
	case bytes.HasSuffix(kind, []byte("_call")), string(kind) == "message" && answers(line, payload):
		return agent.Moves
	default:
		return agent.Nothing
	}
}

func siftEvent(line, kind []byte) agent.Weight {
	switch string(kind) {
	case "task_complete", "turn_aborted", "error", "user_message":
		return agent.Matters
	case "item_completed":
		if bytes.Contains(line, userMessage) {
			return agent.Matters
		}
	case tokenCount:
		if mayBeExhausted(line) {
			return agent.Matters
		}
	case "":
		return agent.Matters
	}
	return agent.Nothing
}

// answers reports whether a message may be from the model. The role is mostly at the beginning.
func answers(line, payload []byte) bool {
	if role, known := lines.TextAtHead(payload, "role"); known {
		return string(role) == "assistant"
	}
	return bytes.Contains(line, []byte(`"assistant"`))
}

// farthestKind is how much of a line is searched for its kinds.
const farthestKind = 512

// opening returns the type of a record and the beginning of its payload, or nil if they are not where
// Codex writes them.
func opening(line []byte) (outer, payload []byte) {
	line = line[:min(len(line), farthestKind)]
	start := bytes.IndexByte(line, '{') + 1
	at := start + bytes.IndexByte(line[start:], '{')
	if at < start || bytes.IndexByte(line[start:at], '[') >= 0 || !bytes.HasSuffix(bytes.TrimRight(line[:at], ": \t"), []byte(`"payload"`)) {
		return nil, nil
	}
	outer, known := lines.TextAtHead(line[:at], "type")
	if !known {
		return nil, nil
	}
	return outer, line[at:]
}

// kindOf returns the type of a payload, or nil if it is not at its beginning.
func kindOf(payload []byte) []byte {
	kind, _ := lines.TextAtHead(payload, "type")
	return kind
}

// mayBe reports whether a line may be of a kind, by its bytes. If its kind cannot be determined, it
// must at least contain the name.
func mayBe(line []byte, kind string) bool {
	outer, payload := opening(line)
	if string(outer) == "event_msg" {
		outer = kindOf(payload)
	}
	if len(outer) > 0 {
		return string(outer) == kind
	}
	return bytes.Contains(line, []byte(`"`+kind+`"`))
}

// mayBeExhausted reports whether a window in the line is used up: its percentage has three digits
// before the point. There are many such lines, and a regular expression takes three times as long.
func mayBeExhausted(line []byte) bool {
	_, line, _ = bytes.Cut(line, []byte(`limits"`)) // token counts come before the limits, with similar names
	for {
		_, rest, found := bytes.Cut(line, []byte(`"used_percent"`))
		if !found {
			return false
		}
		line = bytes.TrimLeft(rest, ": \t")
		if point := bytes.IndexFunc(line, func(r rune) bool { return r < '0' || r > '9' }); point >= 3 || point < 0 && len(line) >= 3 {
			return true
		}
	}
}
