package gemini

import (
	"encoding/json"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/gemini"
	"resumed/internal/explain/recording"
)

// oldChat is a chat as versions before the lines wrote it: one document, written
// anew with each message.
type oldChat struct {
	SessionID string            `json:"sessionId"`
	Project   string            `json:"projectHash"`
	Kind      string            `json:"kind"`
	Messages  []json.RawMessage `json:"messages"`
}

// old says what a chat of that kind tells.
func (r Reader) old(rec agent.Recording) (recording.Told, bool) {
	for _, data := range agent.Records(rec.Text) {
		var chat oldChat
		if !agent.Decode(data, &chat) || !room.IsID(chat.SessionID) || chat.Project == "" || chat.Messages == nil {
			continue
		}
		told := recording.Told{Session: chat.SessionID, Cwd: room.DirectoryOf(rec.Path, data)}
		if !room.IsMain(chat.Kind) {
			told.Leave = "a subagent's chat: the session that it works for continues by itself"
		}
		for _, message := range chat.Messages {
			event, ok := room.EventOf(message, r.limits, rec.At)
			if !ok {
				continue
			}
			told.Event = event
			var named struct {
				ID string `json:"id"`
			}
			agent.Decode(message, &named)
			if at := strings.LastIndex(rec.Text, `"`+named.ID+`"`); at >= 0 {
				told.Line = strings.Count(rec.Text[:at], "\n") + 1
			}
		}
		return told, true
	}
	return recording.Told{}, false
}
