// Package copilot reads what GitHub Copilot CLI says elsewhere than in the events of its
// sessions: on the output of a run.
package copilot

import (
	"bytes"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/copilot"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is whose files are read here.
const Name = room.Name

// Reader reads what was recorded of GitHub Copilot CLI.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// printed is one record of a session's events, or of what a run prints with
// --output-format json: the same events, and more that are kept nowhere.
type printed struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	ID        string `json:"id"`
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId"` // of the record that ends a run
	Data      struct {
		SessionID string `json:"sessionId"` // of the record that begins a session
		Producer  string `json:"producer"`
		Message   string `json:"message"`
		Kind      string `json:"errorType"`
		Code      string `json:"errorCode"`
		Status    int    `json:"statusCode"`
	} `json:"data"`
}

// Recognises reports whether a file that begins with head is the events of a session of
// GitHub Copilot CLI.
func (Reader) Recognises(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	var p printed
	return agent.Decode(line, &p) && p.Type == "session.start" && agent.IsUUID(p.Data.SessionID) && strings.HasPrefix(p.Data.Producer, "copilot")
}

// Printed says what the streams of a run without a terminal tell.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	if told, ok := r.follow(rec.Text, rec.At); ok {
		return told, told.Event != nil
	}
	told, ok := r.follow(rec.Beside, rec.At)
	told.Beside = true
	return told, ok && told.Event != nil
}

// follow reads records, and reports whether they are GitHub Copilot CLI's.
func (r Reader) follow(text string, at time.Time) (told recording.Told, ok bool) {
	for line, data := range agent.Records(text) {
		var p printed
		if !agent.Decode(data, &p) || p.AgentID != "" {
			continue
		}
		if p.Type == "result" && agent.IsUUID(p.SessionID) {
			told.Session, ok = p.SessionID, true
			continue
		}
		if !agent.IsUUID(p.ID) {
			continue
		}
		if event := r.said(p, agent.Written(p.Timestamp, at)); event != nil {
			told.Event, told.Line, ok = event, line, true
		}
	}
	return told, ok
}

// said returns what a record says, or nil where it says nothing new.
func (r Reader) said(p printed, at time.Time) resume.Event {
	switch p.Type {
	case "session.error":
		limits := r.limits
		limits.At = at
		return resume.Limited{At: at, Verdict: room.Verdict(limits, p.Data.Kind, p.Data.Code, p.Data.Message, p.Data.Status), Text: agent.Clip(p.Data.Message)}
	case "user.message":
		return resume.Prompted{At: at}
	case "assistant.message":
		return resume.Progressed{At: at}
	case "abort":
		return resume.Cancelled{At: at}
	default:
		return nil
	}
}

// Recorded says what a recording tells: the output of a run.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	told, ok := r.Printed(rec)
	return recording.Report{Kind: recording.RunOutput, Told: []recording.Told{told}}, ok
}
