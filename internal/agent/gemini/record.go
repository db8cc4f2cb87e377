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
	Model     string            `json:"model"`
	Tokens    struct {
		Total    int64   `json:"total"`
		Output   float64 `json:"output"`
		Thoughts float64 `json:"thoughts"`
	} `json:"tokens"`

	Set struct {
		Messages []record `json:"messages"` // all there are then
	} `json:"$set"`
	RewindTo string `json:"$rewindTo"`
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
	return agent.JoinedTexts(parts, func(p part) string { return p.Text })
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

// cancels reports whether a person broke the turn off.
func (r record) cancels() bool {
	return r.Type == "info" && strings.TrimSpace(r.text()) == "Request cancelled."
}

// refused returns the words of a refusal that ended a turn. Errors of other
// origins, such as a command that is not known, end none.
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

// toolCall is a tool that was called, with what became of it.
type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   map[string]any  `json:"args"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

// denialWords are how Gemini CLI says that a tool was not allowed.
var denialWords = []string{
	"requires user confirmation, which is not supported in non-interactive mode", "denied by policy",
}

// denied reports whether the tool was not run for want of a permission.
func (c toolCall) denied() bool {
	return c.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(string(c.Result), words)
	})
}

// read says what a line of a chat means. Messages do not name their session: the head of
// their file does.
func read(line agent.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := parse(line.Data)
	if !ok {
		return agent.Record{}, false
	}
	said := agent.Record{At: r.at(line.ModTime)}
	said.Event, _ = r.event(limits(said.At), line.ModTime)
	if n := len(r.Set.Messages); n > 0 { // a list of all messages tells nothing new of tools
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

// event returns what a record says.
//
// A list that replaces all messages moves nothing: each resume begins with one,
// and a failed or cancelled turn is taken back by one. It matters only where it
// ends in a refusal or a cancellation itself.
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
	case r.cancels(), r.RewindTo != "": // a person went back to before what happened
		return resume.Cancelled{At: at}, true
	default:
		return nil, false
	}
}

// Within a JSON string a quote is escaped, so these occur only where the record
// itself has them.
var (
	updateBegins = []byte(`{"$set":{"lastUpdated":"`)
	listBegins   = []byte(`{"$set":{"messages":[{"`)
	endings      = [][]byte{[]byte(`"type":"error"`), []byte(`"type":"info"`)}
	tellers      = [][]byte{[]byte(`"user"`), []byte(`"error"`), []byte(`"info"`), []byte(`"$rewindTo"`)}
	quotedGemini = []byte(`"gemini"`)
)

// longestUpdate is how long a line is at most that has no room for more than the time of an update.
const longestUpdate = 64

// sift passes over what cannot tell anything: updates of the metadata, half of
// a chat's lines.
func sift(line []byte) agent.Weight {
	contains := func(part []byte) bool { return bytes.Contains(line, part) }
	switch {
	case len(line) <= longestUpdate && bytes.HasPrefix(line, updateBegins):
		return agent.Nothing
	case bytes.HasPrefix(line, listBegins) && !slices.ContainsFunc(endings, contains):
		return agent.Nothing // all messages anew, of which none ends anything
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
