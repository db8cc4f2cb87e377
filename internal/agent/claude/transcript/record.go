package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
)

// record is what is read of one line of a transcript.
type record struct {
	Type        string  `json:"type"`
	Subtype     string  `json:"subtype"`
	Notice      string  `json:"content"` // of a record of type system
	SessionID   string  `json:"sessionId"`
	Cwd         string  `json:"cwd"`
	Entrypoint  string  `json:"entrypoint"`
	Timestamp   string  `json:"timestamp"`
	IsSidechain bool    `json:"isSidechain"`
	Message     Message `json:"message"`
	Permission  string  `json:"permissionMode"`
	Model       string  `json:"requestedModel"`
	Left        string  `json:"originalModel"` // of a record that tells of another model: the one before it,
	Took        string  `json:"fallbackModel"` // and the one after it
	Effort      string  `json:"effort"`
	Aborted     bool    `json:"isAbortedMidStream"`
	IsMeta      bool    `json:"isMeta"`
	QueueOnly   bool    `json:"queueTranscriptOnly"`
	Summary     bool    `json:"isCompactSummary"`
	Note        string  `json:"usageLimitNote"` // of what Claude Code tells the model about the limit
	IsAPIError  bool    `json:"isApiErrorMessage"`
	Denial      string  `json:"toolDenialKind"` // of a tool's result, since 2.1.2xx

	Refusal          // of a request
	Origin  struct { // of a prompt
		Kind string `json:"kind"`
	} `json:"origin"`
	Params struct {
		RateLimit Quota `json:"rate_limit_info"`
	} `json:"apiErrorParams"`

	CostUSD      float64 `json:"totalCostUSD"`     // of a record of what the session has cost
	APIDuration  int64   `json:"totalAPIDuration"` // milliseconds
	ToolDuration int64   `json:"totalToolDuration"`
}

// Message is what was said. It is the same in a transcript and in what a run
// prints.
type Message struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"` // a string or blocks
	Usage      tokens          `json:"usage"`
}

// tokens is what an answer says that it has read and written.
type tokens struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// Quota is the account's limit as the provider stated it.
type Quota struct {
	Status   string  `json:"status"`
	ResetsAt float64 `json:"resetsAt"` // epoch seconds
	Type     string  `json:"rateLimitType"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`

	ID    string         `json:"id"` // of a tool that is called
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`

	CallID  string          `json:"tool_use_id"` // of its result
	Failed  bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`
}

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// Synthetic is the model of what Claude Code says itself.
const Synthetic = "<synthetic>"

// moved reports whether the model itself spoke. A part of an answer that was
// broken off is followed by a record that says who broke it.
func (r record) moved() bool {
	return r.Type == "assistant" && !r.IsAPIError && !r.Aborted && r.Message.FromModel()
}

// FromModel reports whether the model itself said it.
func (m Message) FromModel() bool { return m.Model != "" && m.Model != Synthetic }

// interrupts reports whether a person broke the turn off.
func (r record) interrupts() bool {
	return r.Type == "user" && !r.IsMeta && !r.QueueOnly && r.Message.Interrupts()
}

// Interrupts reports whether the message records a person's key that
// broke the turn off.
func (m Message) Interrupts() bool {
	return bytes.Contains(m.Content, interruption) && strings.HasPrefix(m.Text(), interrupted)
}

// localPrefixes begin the traces of commands that are carried out without the
// model, such as /exit and /usage: a session is not continued by them. A command
// that is a prompt, such as one of the user's own, begins with <command-message>.
var localPrefixes = []string{
	"<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
}

// prompts reports whether the agent was told to work. What Claude Code tells
// itself is no prompt, its own continuation after a limit included: it shows in
// what comes of it.
func (r record) prompts() bool {
	if r.Type != "user" || r.IsMeta || r.QueueOnly || r.Summary {
		return false
	}
	if r.Origin.Kind == "auto-continuation" || r.Origin.Kind == "task-notification" {
		return false
	}
	said := false
	blocks := r.Message.blocks()
	for _, b := range blocks {
		if b.Type == "tool_result" {
			return false
		}
		said = said || b.Type != "text" || strings.TrimSpace(b.Text) != ""
	}
	if !said {
		return false
	}
	text := strings.TrimSpace(textOf(blocks))
	return !slices.ContainsFunc(localPrefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// blocks returns the content; a plain string is one block of text.
func (m Message) blocks() []block {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var all []block
	agent.Decode(m.Content, &all)
	return all
}

// Text returns the content's words.
func (m Message) Text() string { return textOf(m.blocks()) }

func textOf(blocks []block) string {
	return agent.JoinedTexts(blocks, func(b block) string {
		if b.Type != "text" {
			return ""
		}
		return b.Text
	})
}

// at returns the record's own time, which every version writes.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// Reset returns when the quota is given again, or false where that is not said.
func (q Quota) Reset() (time.Time, bool) { return limit.Epoch(q.ResetsAt) }
