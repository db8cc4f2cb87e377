package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
)

// record is one line of a chat: the header, a message, or a change of what was
// said before.
type record struct {
	SessionID string `json:"sessionId"`
	Project   string `json:"projectHash"`
	Kind      string `json:"kind"`

	Messages json.RawMessage `json:"messages"` // of a chat in one document

	ID        string            `json:"id"`
	Timestamp string            `json:"timestamp"`
	Type      string            `json:"type"`
	Content   json.RawMessage   `json:"content"`
	Typed     json.RawMessage   `json:"displayContent"` // what a person typed, where Content is more
	Thoughts  []json.RawMessage `json:"thoughts"`
	ToolCalls []toolCall        `json:"toolCalls"`
	Tokens    tokens            `json:"tokens"`
	Model     string            `json:"model"`

	Set      change `json:"$set"`
	RewindTo string `json:"$rewindTo"`
}

type tokens struct {
	Output   float64 `json:"output"`
	Thoughts float64 `json:"thoughts"`
}

// change replaces what it names. Messages are then all there are.
type change struct {
	Messages []record `json:"messages"`
}

// part is a piece of a message.
type part struct {
	Text     string          `json:"text"`
	Response json.RawMessage `json:"functionResponse"`
	Inline   json.RawMessage `json:"inlineData"`
	File     json.RawMessage `json:"fileData"`
}

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// partsOf returns the pieces of a content, which is a text, a piece, or a list
// of both.
func partsOf(content json.RawMessage) []part {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		list = []json.RawMessage{content}
	}
	var parts []part
	for _, piece := range list {
		var p part
		if json.Unmarshal(piece, &p.Text) != nil && !agent.Decode(piece, &p) {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

func textOf(parts []part) string {
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (r record) text() string { return textOf(partsOf(r.Content)) }

// at returns the record's own time.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// preambles begin what Gemini CLI itself says at the start of each session.
var preambles = []string{sessionContext, "This is the Gemini CLI."}

const (
	sessionContext    = "<session_context>"
	sessionContextEnd = "</session_context>"
)

// isPreamble reports whether a message only sets the scene.
func (r record) isPreamble() bool { return r.Type == "user" && begins(r.text(), preambles) }

// begins reports whether a text begins with one of several.
func begins(text string, with []string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
}

// nudges begin what Gemini CLI tells itself, in the user's name, after an answer
// that held nothing; a refused request in the middle of a turn counts as one.
// Without that beginning the same words are a person's.
var nudges = []string{"[System: ", "System: Please continue."}

// prompts reports whether the agent was told to work. Results of tools are said
// by the user too.
func (r record) prompts() bool {
	if r.Type != "user" {
		return false
	}
	parts := partsOf(r.Content)
	if text := textOf(parts); begins(text, preambles) || begins(text, nudges) {
		return false
	}
	said := false
	for _, p := range parts {
		if len(p.Response) > 0 {
			return false
		}
		said = said || strings.TrimSpace(p.Text) != "" || len(p.Inline) > 0 || len(p.File) > 0
	}
	return said
}

// moved reports whether the model itself spoke. An answer that holds nothing is
// none.
func (r record) moved() bool {
	return r.Type == "gemini" &&
		(len(r.ToolCalls) > 0 || len(r.Thoughts) > 0 || r.Tokens.Output > 0 || r.Tokens.Thoughts > 0 ||
			strings.TrimSpace(r.text()) != "")
}

const cancelled = "Request cancelled."

// cancels reports whether a person broke the turn off.
func (r record) cancels() bool {
	return r.Type == "info" && strings.TrimSpace(r.text()) == cancelled
}

const apiError = "[API Error"

// refused returns the words of a refusal that ended a turn. Errors of other
// origins, such as a command that is not known, end none.
func (r record) refused() (string, bool) {
	if r.Type != "error" {
		return "", false
	}
	text := strings.TrimSpace(strings.TrimLeft(r.text(), "✕ "))
	return text, strings.HasPrefix(text, apiError)
}

// IsHeader reports whether a line is the first one of a chat.
func IsHeader(line []byte) bool {
	r, ok := parse(line)
	return ok && r.isHeader()
}

// isHeader reports whether the record is the first line of a chat.
func (r record) isHeader() bool {
	return r.SessionID != "" && r.Project != "" && r.ID == "" && r.Type == "" && r.Messages == nil
}
