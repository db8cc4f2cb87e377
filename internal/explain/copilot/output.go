// Package copilot reads what GitHub Copilot CLI tells elsewhere than in the events of its
// sessions: on the output of a run.
package copilot

import (
	"bytes"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/copilot"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
)

// Name is the agent whose files are read here.
const Name = room.Name

// Reader reads what was recorded of GitHub Copilot CLI.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// printed is one record of a session's events, or of what a run prints with
// --output-format json: the same events, and more that are stored nowhere.
type printed struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	SessionID string `json:"sessionId"` // of the record that ends a run
	Data      struct {
		SessionID string `json:"sessionId"` // of the record that begins a session
		Producer  string `json:"producer"`
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
	return recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		told := recording.Follow(text, func(data []byte) (recording.Record, bool) {
			var p printed
			switch {
			case !agent.Decode(data, &p):
				return recording.Record{}, false
			case p.Type == "result" && agent.IsUUID(p.SessionID):
				return recording.Record{Session: p.SessionID}, true
			default:
				return recording.Record{Event: room.EventOf(data, r.limits, rec.At)}, agent.IsUUID(p.ID)
			}
		})
		return told, told.Event != nil
	})
}

// Recorded says what a recording tells: the output of a run.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	told, ok := r.Printed(rec)
	return recording.Of(recording.RunOutput, told), ok
}
