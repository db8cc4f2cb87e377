// Package qwen reads what Qwen Code tells elsewhere than in its chats: on the
// output of a run.
package qwen

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/qwen"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is the agent whose files are read here.
const Name = room.Name

// Reader reads what was recorded of Qwen Code.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// Recognises reports whether a file that begins with head is a chat of Qwen
// Code.
func (Reader) Recognises(head []byte) bool {
	for line := range bytes.Lines(head) {
		var r struct {
			SessionID string `json:"sessionId"`
			UUID      string `json:"uuid"`
			Version   string `json:"version"`
			Message   struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"message"`
			Payload struct {
				Event struct {
					Name string `json:"event.name"`
				} `json:"uiEvent"`
			} `json:"systemPayload"`
		}
		if !agent.Decode(line, &r) || !agent.IsUUID(r.SessionID) || !agent.IsUUID(r.UUID) || r.Version == "" {
			continue
		}
		if len(r.Message.Parts) > 0 || strings.HasPrefix(r.Payload.Event.Name, "qwen-code.") {
			return true
		}
	}
	return false
}

// printed is one record of what a run prints with --output-format json or
// stream-json.
type printed struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	UUID       string          `json:"uuid"`
	SessionID  string          `json:"session_id"`
	Parent     string          `json:"parent_tool_use_id"` // of what a subagent says
	Cwd        string          `json:"cwd"`
	Version    string          `json:"qwen_code_version"` // of the record that begins a run
	Permission string          `json:"permission_mode"`
	Cost       json.RawMessage `json:"total_cost_usd"` // which Qwen Code does not know
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

// isOurs reports whether nobody but Qwen Code prints such a record: the agent
// that has the same types of records tells what a run cost.
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

// Printed says what the streams of a run without a terminal tell. Older
// versions print an error as if it were the answer.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	if told, _ := r.records(rec); told.Event != nil {
		return told, true
	}
	text := strings.TrimSpace(rec.Text)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if words, ok := plainError(last); ok {
		return recording.Told{Event: r.refused(words, rec.At), Line: recording.LineOf(text, len(text))}, true
	}
	return recording.Told{}, false
}

// records reads the records of a run, and reports whether only Qwen Code prints them.
func (r Reader) records(rec agent.Recording) (told recording.Told, ours bool) {
	told, _ = recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		told := recording.Follow(text, func(data []byte) (recording.Record, bool) {
			var p printed
			if !agent.Decode(data, &p) {
				return recording.Record{}, false
			}
			ours = ours || p.isOurs()
			if !agent.IsUUID(p.SessionID) {
				p.SessionID = ""
			}
			return recording.Record{Session: p.SessionID, Cwd: p.Cwd, Event: r.said(p, rec.At)}, p.Parent == ""
		})
		return told, ours || told.Event != nil
	})
	return told, ours
}

// said returns what a record tells, or nil if that is nothing new.
func (r Reader) said(p printed, at time.Time) resume.Event {
	switch p.Type {
	case "assistant":
		for _, c := range p.Message.Content {
			if words, failed := plainError(c.Text); failed {
				return r.refused(words, at)
			}
		}
		return resume.Progressed{At: at}
	case "result":
		if words, failed := plainError(p.Result); failed {
			return r.refused(words, at)
		}
		if p.IsError {
			words, _ := plainError(p.Error.Message)
			return r.refused(words, at)
		}
		return resume.Progressed{At: at}
	default:
		return nil
	}
}

// plainError returns the words of a text that is nothing but the report of a
// failure; other texts are returned whole.
func plainError(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if words, ok := strings.CutPrefix(text, "[API Error: "); ok && strings.HasSuffix(words, "]") {
		return strings.TrimSuffix(words, "]"), true
	}
	return text, false
}

func (r Reader) refused(words string, at time.Time) resume.Limited {
	limits := r.limits
	limits.At = at
	return resume.Limited{At: at, Verdict: room.Verdict(limits, words), Text: agent.Clip("[API Error: " + words + "]")}
}

// Recorded says what a recording tells: the output of a run.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	told, ours := r.records(rec)
	return recording.Of(recording.RunOutput, told), ours
}
