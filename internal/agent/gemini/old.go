package gemini

import (
	"cmp"
	"strings"

	"resumed/internal/agent"
)

// oldChat is a chat as versions before the lines wrote it: one document, written
// anew with each message.
type oldChat struct {
	SessionID string   `json:"sessionId"`
	Project   string   `json:"projectHash"`
	Kind      string   `json:"kind"`
	Messages  []record `json:"messages"`
}

// old says what a chat of that kind tells.
func (a *Agent) old(rec agent.Recording) (agent.Told, bool) {
	for _, data := range agent.Records(rec.Text) {
		var chat oldChat
		if !decode(data, &chat) || !sessionName.MatchString(chat.SessionID) || chat.Project == "" || chat.Messages == nil {
			continue
		}
		told := agent.Told{Session: chat.SessionID, Cwd: cmp.Or(projectRoot(rec.Path), firstDirectory(data))}
		if !isMain(chat.Kind) {
			told.Leave = "a subagent's chat: the session that it works for goes on by itself"
		}
		for _, message := range chat.Messages {
			event, ok := a.event(message, agent.Line{ModTime: rec.At})
			if !ok {
				continue
			}
			told.Event = event
			if at := strings.LastIndex(rec.Text, `"`+message.ID+`"`); at >= 0 {
				told.Line = strings.Count(rec.Text[:at], "\n") + 1
			}
		}
		return told, true
	}
	return agent.Told{}, false
}
