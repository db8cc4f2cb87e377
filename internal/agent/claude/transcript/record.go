package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// record contains the used fields of one line of a transcript.
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
	Left        string  `json:"originalModel"` // of a change of the model: the one before it,
	Took        string  `json:"fallbackModel"` // and the one after it
	Effort      string  `json:"effort"`
	Aborted     bool    `json:"isAbortedMidStream"`
	IsMeta      bool    `json:"isMeta"`
	QueueOnly   bool    `json:"queueTranscriptOnly"`
	Summary     bool    `json:"isCompactSummary"`
	Note        string  `json:"usageLimitNote"` // of a message to the model about the limit
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

// Message is a message of the conversation, in a transcript and in the output of a run.
type Message struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"` // a string or blocks
	Usage      tokens          `json:"usage"`
}

// tokens is how much an answer has read and written.
type tokens struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Kept    struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// Quota is the account's limit, from the provider.
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

func parse(line []byte) (record, bool) { return lines.Parse[record](line) }

// Synthetic is the model in messages of Claude Code itself.
const Synthetic = "<synthetic>"

// moved reports whether the model answered. A partial answer is followed by a record that tells who
// interrupted it.
func (r record) moved() bool {
	return r.Type == "assistant" && !r.IsAPIError && !r.Aborted && r.Message.FromModel()
}

// FromModel reports whether the message is from the model.
func (m Message) FromModel() bool { return m.Model != "" && m.Model != Synthetic }

// interrupts reports whether a person interrupted the turn.
func (r record) interrupts() bool {
	return r.Type == "user" && !r.IsMeta && !r.QueueOnly && r.Message.Interrupts()
}

// Interrupts reports whether the message records that a person interrupted the turn.
func (m Message) Interrupts() bool {
	return bytes.Contains(m.Content, interruption) && strings.HasPrefix(m.Text(), interrupted)
}

// localPrefixes begin the records of commands that do not reach the model, such as /exit and /usage:
// they do not continue a session. A command that is a prompt begins with <command-message>.
var localPrefixes = []string{
	"<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
}

// prompts reports whether the session got a prompt. Messages of Claude Code to itself do not count,
// also not its continuation after a limit: that is observed by its result.
func (r record) prompts() bool {
	if r.Type != "user" || r.IsMeta || r.QueueOnly || r.Summary {
		return false
	}
	if r.Origin.Kind == "auto-continuation" || r.Origin.Kind == taskNotice {
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

// taskNotice is the kind of a message about the end of a subagent or of another task in the background.
const taskNotice = "task-notification"

// endsSubagent reports whether a task in the background has ended.
func (r record) endsSubagent() bool {
	return r.Type == "user" && r.Origin.Kind == taskNotice
}

// blocks returns the content. A plain string is one block of text.
func (m Message) blocks() []block {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var all []block
	lines.Decode(m.Content, &all)
	return all
}

// Text returns the text of the content.
func (m Message) Text() string { return textOf(m.blocks()) }

func textOf(blocks []block) string {
	return agent.JoinedTexts(blocks, func(b block) string {
		if b.Type != "text" {
			return ""
		}
		return b.Text
	})
}

// at returns the record's timestamp, which every version writes.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// Reset returns when the quota is reset, or false if it is not stated.
func (q Quota) Reset() (time.Time, bool) { return limit.Epoch(q.ResetsAt) }
