package codex

import (
	"bytes"

	"resumed/internal/agent"
)

// sift judges a line by its kind, which stands at its beginning. A line whose
// kind cannot be told that way is read.
func sift(line []byte) agent.Weight {
	outer, inner := kinds(line)
	switch string(outer) {
	case "event_msg":
		return siftEvent(line, inner)
	case "response_item":
		if bytes.HasSuffix(inner, []byte("_call")) || string(inner) == "message" && answers(line) {
			return agent.Moves
		}
		return agent.Nothing
	case "session_meta", "world_state", "token_usage_record", "compacted":
		return agent.Nothing
	default:
		return agent.Matters
	}
}

func siftEvent(line, kind []byte) agent.Weight {
	switch string(kind) {
	case "task_complete", "turn_aborted", "error", "user_message":
		return agent.Matters
	case "item_completed":
		if bytes.Contains(line, []byte(`"UserMessage"`)) {
			return agent.Matters
		}
	case "token_count":
		if mayBeExhausted(line) {
			return agent.Matters
		}
	case "":
		return agent.Matters
	}
	return agent.Nothing
}

// answers reports whether a message may be the model's. Who speaks is mostly
// said at the beginning.
func answers(line []byte) bool {
	if head := agent.Head(line); bytes.Contains(head, []byte(`"role"`)) {
		line = head
	}
	return bytes.Contains(line, []byte(`"assistant"`))
}

// farthestKind is how far into a line its kinds are looked for.
const farthestKind = 512

// kinds returns the type of a record and that of its payload, or nothing where
// they do not stand where Codex writes them.
func kinds(line []byte) (outer, inner []byte) {
	line = line[:min(len(line), farthestKind)]
	outer, rest := typeIn(line)
	at := bytes.Index(rest, []byte(`"payload"`))
	if len(outer) == 0 || at < 0 {
		return nil, nil
	}
	inner, _ = typeIn(rest[at:])
	return outer, inner
}

// mayBe reports whether a line is of these kinds, an empty one being any, by its
// bytes. One whose kinds cannot be told may be where it names them at all.
func mayBe(line []byte, outer, inner string) bool {
	gotOuter, gotInner := kinds(line)
	if len(gotOuter) > 0 {
		return string(gotOuter) == outer && (inner == "" || string(gotInner) == inner)
	}
	name := outer
	if inner != "" {
		name = inner
	}
	return bytes.Contains(line, []byte(`"`+name+`"`))
}

// typeIn returns the value of the first key "type", and what follows it.
func typeIn(b []byte) (value, rest []byte) {
	key := []byte(`"type"`)
	at := bytes.Index(b, key)
	if at < 0 {
		return nil, nil
	}
	b = bytes.TrimLeft(b[at+len(key):], ": ")
	if len(b) == 0 || b[0] != '"' {
		return nil, nil
	}
	end := bytes.IndexByte(b[1:], '"')
	if end < 0 {
		return nil, nil
	}
	return b[1 : 1+end], b[1+end:]
}

// mayBeExhausted reports whether a window of the line is used up: whether its
// share has three digits before the point.
func mayBeExhausted(line []byte) bool {
	key := []byte(`"used_percent"`)
	for {
		at := bytes.Index(line, key)
		if at < 0 {
			return false
		}
		line = bytes.TrimLeft(line[at+len(key):], ": ")
		digits := 0
		for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
			digits++
		}
		if digits >= 3 {
			return true
		}
	}
}
