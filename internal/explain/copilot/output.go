// Package copilot interprets output of GitHub Copilot CLI outside of its session events: of a run.
package copilot

import (
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/copilot"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
)

// New returns a Reader that interprets refusals with limits.
func New(limits limit.Reader) recording.Reader {
	return recording.Reader{Name: room.Name, Limits: limits, Begins: begins, Run: run}
}

// printed is one record of a session's events, or of the output of a run with --output-format json: the same events,
// and some that are not stored.
type printed struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	SessionID string `json:"sessionId"` // of the last record of a run
	Data      struct {
		SessionID string `json:"sessionId"` // of the first record of a session
		Producer  string `json:"producer"`
	} `json:"data"`
}

// begins recognises the first event of a session.
func begins(line []byte) (is, known bool) {
	var p printed
	is = agent.Decode(line, &p) && p.Type == "session.start" && agent.IsUUID(p.Data.SessionID) && strings.HasPrefix(p.Data.Producer, "copilot")
	return is, true
}

// run interprets the streams of a run without a terminal.
func run(limits limit.Reader, rec agent.Recording) (recording.Told, bool) {
	return recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		told := recording.Follow(text, func(data []byte) (recording.Record, bool) {
			var p printed
			switch {
			case !agent.Decode(data, &p):
				return recording.Record{}, false
			case p.Type == "result" && agent.IsUUID(p.SessionID):
				return recording.Record{Session: p.SessionID}, true
			default:
				return recording.Record{Event: room.EventOf(data, limits, rec.At)}, agent.IsUUID(p.ID)
			}
		})
		return told, told.Event != nil
	})
}
