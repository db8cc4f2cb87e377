package database

import (
	"slices"

	"resumed/internal/lines"
)

func providerOf(model []byte) string {
	var m struct {
		Provider string `json:"providerID"`
	}
	_ = lines.Decode(model, &m) // a session may have none
	return m.Provider
}

// record2 is the content of the column data in version 2.
type record2 struct {
	Record
	Text    string `json:"text"` // of a prompt
	Content []struct {
		Type  string `json:"type"`
		Name  string `json:"name"` // of a tool
		State struct {
			Status string         `json:"status"`
			Input  map[string]any `json:"input"`
			Error  failure2       `json:"error"`
		} `json:"state"`
	} `json:"content"`
}

// readMessage2 returns the parser of the record of a message of that type. Only prompts and answers tell a
// session's state: what opencode adds itself, it may add to a session that nobody continues.
func readMessage2(kind string) func(data []byte, createdMS, updatedMS int64) Message {
	return func(data []byte, createdMS, updatedMS int64) (m Message) {
		var r record2
		if kind == "assistant" && data == nil { // too long: it has an answer
			m.Meaning = Moved
			return m.timed(createdMS, updatedMS)
		}
		if kind != "user" && kind != "assistant" || !lines.Decode(data, &r) {
			return Message{}
		}
		m.Record, m.parts = r.Record, r.parts(kind)
		m.Role = kind
		switch m.Meaning = m.meaning(); {
		case m.Meaning == Cancelled && slices.ContainsFunc(m.parts, part.denied):
			m.Meaning = Moved // a permission that was not given ends the turn
		case m.Meaning == Broken:
			m.Meaning = Nothing // the server was restarted, and continued the turn in the next message
		}
		return m.timed(createdMS, updatedMS)
	}
}

// parts returns the prompt, or the called tools.
func (r record2) parts(kind string) (all []part) {
	if kind == "user" {
		return []part{{Type: "text", Text: clipped(r.Text)}}
	}
	for _, c := range r.Content {
		if c.Type != "tool" {
			continue
		}
		p := part{Type: c.Type, Tool: c.Name}
		p.State.Status, p.State.Error = c.State.Status, c.State.Error.Message
		if c.State.Error.Type == "permission.rejected" {
			p.State.Error = denialWords[0]
		}
		if p.denied() {
			p.State.Input = c.State.Input
		}
		all = append(all, p)
	}
	return all
}
