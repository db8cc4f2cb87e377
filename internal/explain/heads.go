package explain

import (
	"bytes"
	"encoding/json"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/agent/claude"
	"resumed/internal/agent/codex"
	"resumed/internal/agent/copilot"
	"resumed/internal/agent/gemini"
	"resumed/internal/agent/kimi"
	"resumed/internal/agent/opencode"
	"resumed/internal/agent/pi"
	"resumed/internal/agent/qwen"
	"resumed/internal/lines"
)

// heads recognise the files of each agent by their beginning. They report whether a line there belongs to a transcript
// or a database of the agent (is), and whether this line decides it (known). The line may be cut at its end.
//
// The database of Kilo begins as that of opencode: it is recognised by its name.
var heads = map[string]func(line []byte) (is, known bool){
	claude.Name: beginsClaude, codex.Name: beginsCodex, copilot.Name: beginsCopilot, gemini.Name: beginsGemini, kimi.Name: beginsKimi,
	opencode.Name: beginsDatabase, opencode.KiloName: beginsDatabase, pi.Name: beginsPi, qwen.Name: beginsQwen,
}

// recognises reports whether a file that begins with head is a transcript or a database of the agent.
func recognises(name string, head []byte) bool {
	begins, ok := heads[name]
	if !ok {
		return false
	}
	for line := range bytes.Lines(head) {
		if is, known := begins(line); known {
			return is
		}
	}
	return false
}

// Records of other agents have other fields.
func beginsClaude(line []byte) (is, known bool) {
	var r struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionId"`
		UUID      string `json:"uuid"`
		Version   string `json:"version"`
		Message   struct {
			Parts json.RawMessage `json:"parts"`
		} `json:"message"`
		Payload json.RawMessage `json:"systemPayload"`
	}
	if json.Unmarshal(line, &r) != nil || !agent.IsUUID(r.SessionID) {
		return false, false
	}
	switch r.Type {
	case "user", "assistant", "system", "attachment":
		return r.Message.Parts == nil && r.Payload == nil, agent.IsUUID(r.UUID) && r.Version != ""
	case "queue-operation", "mode", "permission-mode":
		return true, true
	default:
		return false, false
	}
}

// The last line of a head may be cut: its beginning is enough.
func beginsCodex(line []byte) (is, known bool) {
	kind, _ := lines.Text(line, "type")
	_, timed := lines.Text(line, "timestamp")
	_, full := lines.Field(line, "payload")
	switch string(kind) {
	case "session_meta":
		return full, full
	case "turn_context", "event_msg", "response_item", "world_state":
		return timed, full
	default:
		return false, false
	}
}

func beginsCopilot(line []byte) (is, known bool) {
	var first struct {
		Type string `json:"type"`
		Data struct {
			SessionID string `json:"sessionId"`
			Producer  string `json:"producer"`
		} `json:"data"`
	}
	is = lines.Decode(line, &first) && first.Type == "session.start" && agent.IsUUID(first.Data.SessionID)
	return is && strings.HasPrefix(first.Data.Producer, "copilot"), true
}

func beginsGemini(line []byte) (is, known bool) {
	is = gemini.IsHeader(line)
	return is, is
}

func beginsKimi(line []byte) (is, known bool) {
	var first struct {
		Type     string  `json:"type"`
		Protocol string  `json:"protocol_version"`
		Created  float64 `json:"created_at"`
	}
	return lines.Decode(line, &first) && first.Type == "metadata" && first.Protocol != "" && first.Created > 0, true
}

func beginsDatabase(line []byte) (is, known bool) {
	return bytes.HasPrefix(line, []byte("SQLite format 3\x00")), true
}

func beginsPi(line []byte) (is, known bool) { return pi.IsHeader(line), true }

func beginsQwen(line []byte) (is, known bool) {
	is = qwen.IsRecord(line)
	return is, is
}
