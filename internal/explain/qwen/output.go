// Package qwen interprets output of Qwen Code outside of its chats: of a run.
package qwen

import (
	"encoding/json"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader interprets output of Qwen Code.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: read}

func begins(line []byte) (is, known bool) {
	is = room.IsRecord(line)
	return is, is
}

// printed is one record of the output of a run with --output-format json or stream-json.
type printed struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	UUID       string          `json:"uuid"`
	SessionID  string          `json:"session_id"`
	Parent     string          `json:"parent_tool_use_id"` // of output of a subagent
	Cwd        string          `json:"cwd"`
	Version    string          `json:"qwen_code_version"` // of the first record of a run
	Permission string          `json:"permission_mode"`
	Cost       json.RawMessage `json:"total_cost_usd"` // which Qwen Code does not print
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Error      struct {
		Message string `json:"message"`
	} `json:"error"`
	Message struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// isOurs reports whether only Qwen Code prints such a record: Claude Code also prints the cost of a run.
func (p printed) isOurs() bool {
	if !agent.IsUUID(p.SessionID) || !agent.IsUUID(p.UUID) {
		return false
	}
	switch p.Type {
	case "system":
		return p.Version != "" || p.Permission != ""
	case "stream_event":
		return p.Subtype == ""
	case "result":
		return p.Cost == nil
	default:
		return false
	}
}

// read interprets the streams of a run without a terminal. Older versions print an error as if it were the answer.
func read(limits limit.Reader, rec headless.Recording, named bool) (recording.Report, bool) {
	ours := false
	told, _ := recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		told := recording.Follow(text, func(p printed) recording.Told {
			ours = ours || p.isOurs()
			if p.Parent != "" {
				return recording.Told{}
			}
			return recording.Told{Session: recording.ID(p.SessionID), Cwd: p.Cwd, Event: p.event(limits)}
		})
		return told, ours || told.Event != nil
	})
	if ours || told.Event != nil {
		return recording.Of(recording.RunOutput, told), ours || named
	}
	text := strings.TrimSpace(rec.Text)
	if words, ok := plainError(text[strings.LastIndexByte(text, '\n')+1:]); ok {
		told = recording.Told{Event: refused(limits, words), Line: recording.LineOf(text, len(text))}
		return recording.Of(recording.RunOutput, told), named
	}
	return recording.Report{}, false
}

func (p printed) event(limits limit.Reader) resume.Event {
	said := []string{p.Result}
	switch p.Type {
	case "assistant":
		for _, c := range p.Message.Content {
			said = append(said, c.Text)
		}
	case "result":
	default:
		return nil
	}
	for _, text := range said {
		if words, failed := plainError(text); failed {
			return refused(limits, words)
		}
	}
	if p.Type == "result" && p.IsError {
		words, _ := plainError(p.Error.Message)
		return refused(limits, words)
	}
	return resume.Progressed{At: limits.At}
}

// plainError returns the message of a text that is only the report of a failure; other texts are returned unchanged.
func plainError(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if words, ok := strings.CutPrefix(text, "[API Error: "); ok && strings.HasSuffix(words, "]") {
		return strings.TrimSuffix(words, "]"), true
	}
	return text, false
}

func refused(limits limit.Reader, words string) resume.Limited {
	return recording.Refused(limits.At, room.Verdict(limits, words), "[API Error: "+words+"]")
}
