package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// record is one line of a chat: the header, a message, or a change of earlier messages.
type record struct {
	SessionID string `json:"sessionId"`
	Project   string `json:"projectHash"`
	Kind      string `json:"kind"`

	Messages json.RawMessage `json:"messages"` // of a chat in one document

	ID        string            `json:"id"`
	Timestamp string            `json:"timestamp"`
	Type      string            `json:"type"`
	Content   json.RawMessage   `json:"content"`
	Typed     json.RawMessage   `json:"displayContent"` // what a person typed, if Content has more
	Thoughts  []json.RawMessage `json:"thoughts"`
	ToolCalls []toolCall        `json:"toolCalls"`
	Model     string            `json:"model"`
	Tokens    struct {
		Total    int64   `json:"total"`
		Output   float64 `json:"output"`
		Thoughts float64 `json:"thoughts"`
	} `json:"tokens"`

	Set struct {
		Messages []record `json:"messages"` // all messages at that time
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`
}

// part is a part of a message.
type part struct {
	Text     string          `json:"text"`
	Response json.RawMessage `json:"functionResponse"`
	Inline   json.RawMessage `json:"inlineData"`
	File     json.RawMessage `json:"fileData"`
}

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// partsOf returns the parts of a content, which is a text, a part, or a list of both.
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
	return agent.JoinedTexts(parts, func(p part) string { return p.Text })
}

func (r record) text() string { return textOf(partsOf(r.Content)) }

// at returns the record's timestamp.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// preambles begin messages of Gemini CLI itself at the start of each session.
var preambles = []string{sessionContext, "This is the Gemini CLI."}

const (
	sessionContext    = "<session_context>"
	sessionContextEnd = "</session_context>"
)

// isPreamble reports whether a message is only a preamble.
func (r record) isPreamble() bool { return r.Type == "user" && begins(r.text(), preambles) }

// begins reports whether a text begins with one of several prefixes.
func begins(text string, with []string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
}

// nudges begin prompts of Gemini CLI to itself, in the user's name, after an empty answer; a request refused in the
// middle of a turn counts as one. Without that prefix the same words are a person's.
var nudges = []string{"[System: ", "System: Please continue."}

// prompts reports whether the record is a prompt. Results of tools have the type user too.
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

// moved reports whether the record is from the model. An empty answer does not count.
func (r record) moved() bool {
	return r.Type == "gemini" &&
		(len(r.ToolCalls) > 0 || len(r.Thoughts) > 0 || r.Tokens.Output > 0 || r.Tokens.Thoughts > 0 ||
			strings.TrimSpace(r.text()) != "")
}

// cancels reports whether a person interrupted the turn.
func (r record) cancels() bool {
	return r.Type == "info" && strings.TrimSpace(r.text()) == "Request cancelled."
}

// refused returns the text of a refusal that ended a turn. Other errors, such as an unknown command, end none.
func (r record) refused() (string, bool) {
	if r.Type != "error" {
		return "", false
	}
	text := strings.TrimSpace(strings.TrimLeft(r.text(), "✕ "))
	return text, strings.HasPrefix(text, "[API Error")
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

// toolCall is a tool call with its result.
type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   map[string]any  `json:"args"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

// denialWords are how Gemini CLI reports that a tool was not allowed.
var denialWords = []string{
	"requires user confirmation, which is not supported in non-interactive mode", "denied by policy",
}

// denied reports whether the tool was not run because of a missing permission.
func (c toolCall) denied() bool {
	return c.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(string(c.Result), words)
	})
}

// read returns what a line of a chat means. Messages do not contain their session: the header of the file does.
func read(line agent.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := parse(line.Data)
	if !ok {
		return agent.Record{}, false
	}
	said := agent.Record{At: r.at(line.ModTime)}
	said.Event, _ = r.event(limits(said.At), line.ModTime)
	if n := len(r.Set.Messages); n > 0 { // a list of all messages has no new tool calls
		said.At = r.Set.Messages[n-1].at(line.ModTime)
		return said, true
	}
	if r.Type == "gemini" {
		said.Tokens, said.Model = r.Tokens.Total, r.Model
	}
	said.Prompt = cmp.Or(textOf(partsOf(r.Typed)), r.text())
	for _, c := range r.ToolCalls {
		call := agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)}
		said.Calls = append(said.Calls, call)
		if c.denied() {
			said.Denied = &agent.Denial{Tool: call.Tool, Use: call.Use}
		}
	}
	return said, true
}

// event returns the event of a record.
//
// A list that replaces all messages is no progress: each resume begins with one, and a failed or cancelled turn is
// removed by one. It matters only if it ends with a refusal or a cancellation.
func (r record) event(limits limit.Reader, modTime time.Time) (resume.Event, bool) {
	if len(r.Set.Messages) > 0 {
		for _, message := range slices.Backward(r.Set.Messages) {
			_, refused := message.refused()
			if refused || message.cancels() {
				return message.event(limits, modTime)
			}
			if message.Type != "info" && message.Type != "warning" {
				break
			}
		}
		return nil, false
	}
	at := r.at(modTime)
	if at.IsZero() {
		return nil, false
	}
	text, refused := r.refused()
	switch {
	case refused:
		limits.At = at
		return resume.Limited{At: at, Verdict: Verdict(limits, limit.Refusal{Text: text}), Text: agent.Clip(text)}, true
	case r.moved():
		return resume.Progressed{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	case r.cancels(), r.RewindTo != "": // a person went back to an earlier state
		return resume.Cancelled{At: at}, true
	default:
		return nil, false
	}
}

// Quotes within a JSON string are escaped, so these are found only as parts of a record.
var (
	updateBegins = []byte(`{"$set":{"lastUpdated":"`)
	listBegins   = []byte(`{"$set":{"messages":[{"`)
	endings      = [][]byte{[]byte(`"type":"error"`), []byte(`"type":"info"`)}
	tellers      = [][]byte{[]byte(`"user"`), []byte(`"error"`), []byte(`"info"`), []byte(`"$rewindTo"`)}
	quotedGemini = []byte(`"gemini"`)
)

// longestUpdate is the maximum length of a line with only the time of an update.
const longestUpdate = 64

// sift ignores updates of the metadata, which are half of a chat's lines.
func sift(line []byte) agent.Weight {
	contains := func(part []byte) bool { return bytes.Contains(line, part) }
	switch {
	case len(line) <= longestUpdate && bytes.HasPrefix(line, updateBegins):
		return agent.Nothing
	case bytes.HasPrefix(line, listBegins) && !slices.ContainsFunc(endings, contains):
		return agent.Nothing // a new list of all messages, without a refusal or a cancellation
	}
	kind, known := agent.TextAtEnds(line, "type")
	switch string(kind) {
	case "gemini":
		return agent.Moves
	case "user", "error", "info":
		return agent.Matters
	}
	switch {
	case known:
		return agent.Nothing
	case slices.ContainsFunc(tellers, contains):
		return agent.Matters
	case contains(quotedGemini):
		return agent.Moves
	default:
		return agent.Nothing
	}
}
