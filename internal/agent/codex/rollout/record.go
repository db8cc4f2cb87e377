package rollout

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

type record struct {
	Timestamp string          `json:"timestamp"`
	Ordinal   json.RawMessage `json:"ordinal"` // since 0.145
	Type      string          `json:"type"`
	Payload   payload         `json:"payload"`
}

type payload struct {
	Type string `json:"type"`
	Role string `json:"role"` // of a message

	failure                 // of an error
	Error   json.RawMessage `json:"error"` // of task_complete: absent if the turn ended normally
	Answer  string          `json:"last_agent_message"`
	Reason  string          `json:"reason"` // of turn_aborted
	Item    struct {        // of item_completed
		Type string `json:"type"`
	} `json:"item"`

	Limits rateLimits `json:"rate_limits"` // of token_count
	Tokens struct {
		Last struct {
			Total int64 `json:"total_tokens"`
		} `json:"last_token_usage"`
	} `json:"info"`

	CallID    string          `json:"call_id"` // of a tool call, and of its result
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // a string, or an object that contains it

	Turn // of turn_context
}

// failure is the error that ended a turn.
type failure struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codex_error_info"`
}

func parse(line []byte) (record, bool) { return lines.Parse[record](line) }

// The kinds that are searched.
const (
	turnContext = "turn_context"
	tokenCount  = "token_count"
	taskStarted = "task_started"
)

func (r record) kind() string {
	if r.Type == "event_msg" {
		return r.Payload.Type
	}
	return r.Type
}

// Results of tools do not count, and neither do thoughts alone.
func (r record) moved() bool {
	if r.Type != "response_item" {
		return false
	}
	return r.Payload.Type == "message" && r.Payload.Role == "assistant" || strings.HasSuffix(r.Payload.Type, "_call")
}

// Messages with the role user also contain the environment and instructions, so only events count.
func (r record) prompts() bool {
	return r.kind() == "user_message" || r.kind() == "item_completed" && r.Payload.Item.Type == "UserMessage"
}

// A replaced turn continues as another one, and the end of a review returns to its session.
func (r record) interrupts() bool {
	return r.kind() == "turn_aborted" && r.Payload.Reason != "replaced" && r.Payload.Reason != "review_ended"
}

func (r record) failed() (f failure, ended bool) {
	switch r.kind() {
	case "task_complete":
		if len(r.Payload.Error) == 0 || string(r.Payload.Error) == "null" {
			return f, false
		}
		if json.Unmarshal(r.Payload.Error, &f.Message) != nil { // in most versions it is an object
			lines.Decode(r.Payload.Error, &f)
		}
		return f, true
	case "error":
		// Some errors only refuse an operation, and the turn continues.
		name, _ := r.Payload.failure.info()
		return r.Payload.failure, name != "thread_rollback_failed" && name != "active_turn_not_steerable"
	default:
		return f, false
	}
}

// Codex writes it as a name, or as an object with the name as its key.
func (f failure) info() (name string, status int) {
	if json.Unmarshal(f.Info, &name) == nil {
		return name, 0
	}
	var named map[string]json.RawMessage
	_ = json.Unmarshal(f.Info, &named) // anything else has no name
	if len(named) == 0 {
		return "", 0
	}
	name = slices.Min(slices.Collect(maps.Keys(named))) // normally there is only one: the order makes the result repeatable
	var detail struct {
		Status int `json:"http_status_code"`
	}
	lines.Decode(named[name], &detail)
	return name, detail.Status
}

func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// Size returns the context at an answer, which the provider promises to cache for five to ten minutes.
func Size(line lines.Line) (resume.Context, bool) {
	if !mayBe(line.Data, tokenCount) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	tokens := r.Payload.Tokens.Last.Total
	return resume.Context{Tokens: tokens, At: r.at(line.ModTime), Warm: 10 * time.Minute}, ok && r.kind() == tokenCount && tokens > 0
}

// Trace returns what a line says about tools. confined says that the run has a sandbox.
func Trace(line lines.Line, confined bool) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok {
		return agent.ToolUse{}
	}
	t := agent.ToolUse{At: r.at(line.ModTime)}
	p := r.Payload
	_, failed := r.failed()
	switch {
	case failed || r.interrupts():
		t.Other = true
	case r.kind() == taskStarted:
		t.Begins = true
	case r.Type != "response_item":
	case strings.HasSuffix(p.Type, "_call_output"):
		t.Done = []string{p.CallID}
		text := string(p.Output)
		_ = json.Unmarshal(p.Output, &text) // an object is searched as it is
		bySandbox := confined && failedCommand().MatchString(text) && strings.Contains(text, "Read-only file system")
		if refusedByCodex(text) || bySandbox {
			t.Denied = &agent.Denial{ID: p.CallID}
		}
	case strings.HasSuffix(p.Type, "_call"):
		var arguments map[string]any
		_ = json.Unmarshal([]byte(p.Arguments), &arguments) // a custom tool has plain text
		t.Calls = []agent.Call{{ID: p.CallID, Tool: p.Name, Use: agent.UseOf(arguments)}}
	}
	return t
}

// refusals are how Codex reports a tool that it did not run, because there was nobody to ask.
var refusals = []string{
	"approval policy is Never", "rejected by user approval settings", "rejected: blocked by policy",
	"exec command rejected by user", "patch rejected by user",
}

func refusedByCodex(text string) bool {
	return slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(text, words) }) &&
		!strings.Contains(text, "Process exited with code") // output of a command may contain anything
}

// A command that failed because it wrote where the sandbox forbids it was refused. Other failures may have other causes.
var failedCommand = lazy.Regexp(`(?i)(process exited with code|exit code:|"exit_code":) ?[1-9]`)

// Sift judges a line by its kind. A line of unknown kind must be parsed.
func Sift(line []byte) agent.Weight {
	record, event, payload := kinds(line)
	switch string(record) {
	case "event_msg":
		return siftEvent(line, event)
	case "response_item":
		item, known := lines.Text(payload, "type")
		switch {
		case !known:
			return agent.Matters
		case bytes.HasSuffix(item, []byte("_call")), string(item) == "message" && bytes.Contains(payload, []byte(`"assistant"`)):
			return agent.Moves
		}
		return agent.Nothing
	case "session_meta", turnContext, "world_state", "token_usage_record", "compacted":
		return agent.Nothing
	default:
		return agent.Matters
	}
}

func siftEvent(line, event []byte) agent.Weight {
	switch string(event) {
	case "task_complete", "turn_aborted", "error", "user_message", "":
		return agent.Matters
	case "item_completed":
		if bytes.Contains(line, []byte(`"UserMessage"`)) {
			return agent.Matters
		}
	case tokenCount:
		if mayBeExhausted(line) {
			return agent.Matters
		}
	}
	return agent.Nothing
}

// kinds returns the kind of a record, the kind of the event in it, if it is one, and its payload.
func kinds(line []byte) (record, event, payload []byte) {
	record, _ = lines.Text(line, "type")
	payload, _ = lines.Field(line, "payload")
	if string(record) == "event_msg" {
		event, _ = lines.Text(payload, "type")
	}
	return record, event, payload
}

func mayBe(line []byte, kind string) bool {
	record, event, _ := kinds(line)
	return string(record) == kind || string(event) == kind
}

// mayBeExhausted reports whether a window in the line is used up: its percentage has three digits
// before the point. There are many such lines, and a regular expression takes three times as long.
func mayBeExhausted(line []byte) bool {
	_, line, _ = bytes.Cut(line, []byte(`limits"`)) // token counts come before the limits, with similar names
	for {
		_, rest, found := bytes.Cut(line, []byte(`"used_percent"`))
		if !found {
			return false
		}
		line = bytes.TrimLeft(rest, ": \t")
		if point := bytes.IndexFunc(line, func(r rune) bool { return r < '0' || r > '9' }); point >= 3 || point < 0 && len(line) >= 3 {
			return true
		}
	}
}
