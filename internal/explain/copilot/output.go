// Package copilot interprets output of GitHub Copilot CLI outside of its session events: of a run.
package copilot

import (
	"encoding/json"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/copilot"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// Reader interprets output of GitHub Copilot CLI.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: recording.OfRun(read)}

// printed is one record of the output of a run with --output-format json: the events of a session, and others.
type printed struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	SessionID string `json:"sessionId"` // of the last record of a run
	Data      struct {
		SessionID string `json:"sessionId"` // of the first record of a session
		Producer  string `json:"producer"`
	} `json:"data"`
}

func begins(line []byte) (is, known bool) {
	var p printed
	is = lines.Decode(line, &p) && p.Type == "session.start" && agent.IsUUID(p.Data.SessionID) && strings.HasPrefix(p.Data.Producer, "copilot")
	return is, true
}

func read(limits limit.Reader, text string) recording.Told {
	return recording.Follow(text, func(data json.RawMessage) (t recording.Told) {
		p, _ := lines.Parse[printed](data)
		switch {
		case p.Type == "result" && agent.IsUUID(p.SessionID):
			t.Session = p.SessionID
		case agent.IsUUID(p.ID):
			t.Event = room.EventOf(data, limits)
		}
		return t
	})
}
