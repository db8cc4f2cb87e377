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
	"resumed/internal/lines"
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
	Content   agent.Parts       `json:"content"`
	Typed     agent.Parts       `json:"displayContent"` // what a person typed, if Content has more
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

func parse(line []byte) (record, bool) { return lines.Parse[record](line) }

// text returns the text of a message.
func (r record) text() string { return strings.TrimSpace(r.Content.Text()) }

// at returns the record's timestamp.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// preambles begin messages of Gemini CLI itself at the start of each session.
var preambles = []string{sessionContext, "This is the Gemini CLI."}

const (
	sessionContext    = "<session_context>"
	sessionContextEnd = "</session_context>"
)

// begins reports whether a text begins with one of several prefixes.
func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(start string) bool { return strings.HasPrefix(text, start) })
}

// nudges begin prompts of Gemini CLI to itself, in the user's name, after an empty answer; a request refused in the
// middle of a turn counts as one. Without that prefix the same words are a person's.
var nudges = []string{"[System: ", "System: Please continue."}

// prompts reports whether the record is a prompt. Results of tools have the type user too.
func (r record) prompts() bool {
	return r.Type == "user" && r.Content.Asks() && !begins(r.text(), preambles) && !begins(r.text(), nudges)
}

// moved reports whether the record is from the model. An empty answer does not count.
func (r record) moved() bool {
	return r.Type == "gemini" &&
		(len(r.ToolCalls) > 0 || len(r.Thoughts) > 0 || r.Tokens.Output > 0 || r.Tokens.Thoughts > 0 || r.text() != "")
}

// cancels reports whether a person interrupted the turn.
func (r record) cancels() bool { return r.Type == "info" && r.text() == "Request cancelled." }

// refused returns the text of a refusal that ended a turn. Other errors, such as an unknown command, end none.
func (r record) refused() (string, bool) {
	text := strings.TrimLeft(r.text(), "✕ ")
	return text, r.Type == "error" && strings.HasPrefix(text, "[API Error")
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
func read(line lines.Line, limits func(time.Time) limit.Reader) (said agent.Record, ok bool) {
	r, ok := parse(line.Data)
	if !ok {
		return said, false
	}
	said.At = r.at(line.ModTime)
	said.Event = r.event(limits(said.At), line.ModTime)
	if n := len(r.Set.Messages); n > 0 { // a list of all messages has no new tool calls
		said.At = r.Set.Messages[n-1].at(line.ModTime)
		return said, true
	}
	if r.Type == "gemini" {
		said.Tokens, said.Model = r.Tokens.Total, r.Model
	}
	said.Prompt = cmp.Or(r.Typed.Text(), r.text())
	for _, c := range r.ToolCalls {
		call := agent.Call{ID: c.ID, Tool: c.Name, Use: agent.UseOf(c.Args)}
		said.Calls = append(said.Calls, call)
		if c.denied() {
			said.Denied = new(agent.Denial(call))
		}
	}
	return said, true
}

// event returns the event of a record; nil: none.
//
// A list that replaces all messages is no progress: each resume begins with one, and a failed or cancelled turn is
// removed by one. It matters only if it ends with a refusal or a cancellation.
func (r record) event(limits limit.Reader, modTime time.Time) resume.Event {
	for _, message := range slices.Backward(r.Set.Messages) {
		_, refused := message.refused()
		if refused || message.cancels() {
			return message.event(limits, modTime)
		}
		if message.Type != "info" && message.Type != "warning" {
			return nil
		}
	}
	at := r.at(modTime)
	text, refused := r.refused()
	switch {
	case at.IsZero():
		return nil
	case refused:
		limits.At = at
		return resume.Limited{At: at, Verdict: Verdict(limits, limit.Refusal{Text: text}), Text: agent.Clip(text)}
	case r.moved():
		return resume.Progressed{At: at}
	case r.prompts():
		return resume.Prompted{At: at}
	case r.cancels(), r.RewindTo != "": // a person went back to an earlier state
		return resume.Cancelled{At: at}
	default:
		return nil
	}
}

// siftMessage judges a line with one message, or with a change of earlier ones.
var siftMessage = agent.SiftByType([]string{"gemini"}, []string{"user", "error", "info", "$rewindTo"})

// sift ignores updates of the metadata, which are half of a chat's lines, and new lists of all messages without a
// refusal or a cancellation.
func sift(line []byte) agent.Weight {
	contains := func(part string) bool { return bytes.Contains(line, []byte(part)) }
	if bytes.HasPrefix(line, []byte(`{"$set":{"messages":[{"`)) && !contains(`"type":"error"`) && !contains(`"type":"info"`) {
		return agent.Nothing
	}
	return siftMessage(line)
}
