package rollout

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// record contains the used fields of one line of a rollout.
type record struct {
	Timestamp string          `json:"timestamp"`
	Ordinal   json.RawMessage `json:"ordinal"` // since 0.145
	Type      string          `json:"type"`
	Payload   payload         `json:"payload"`
}

// payload contains the used fields of all kinds of records.
type payload struct {
	Type string `json:"type"`
	Role string `json:"role"` // of a message

	Failure                 // of an error
	Error   json.RawMessage `json:"error"` // of task_complete: absent if the turn ended normally
	Answer  string          `json:"last_agent_message"`
	Reason  string          `json:"reason"` // of turn_aborted
	Item    struct {        // of item_completed
		Type string `json:"type"`
	} `json:"item"`

	Limits RateLimits `json:"rate_limits"` // of token_count
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

// Failure is the error that ended a turn.
type Failure struct {
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

// kind returns the kind of an event, or the type of another record.
func (r record) kind() string {
	if r.Type == "event_msg" {
		return r.Payload.Type
	}
	return r.Type
}

// moved reports whether the model answered or called a tool. Results of tools do not count, and
// neither do thoughts alone.
func (r record) moved() bool {
	if r.Type != "response_item" {
		return false
	}
	return r.Payload.Type == "message" && r.Payload.Role == "assistant" || strings.HasSuffix(r.Payload.Type, "_call")
}

// prompts reports whether the session got a prompt. Messages with the role user also contain the
// environment and instructions, so only events count.
func (r record) prompts() bool {
	return r.kind() == "user_message" || r.kind() == "item_completed" && r.Payload.Item.Type == "UserMessage"
}

// interrupts reports whether a person interrupted the turn. A replaced turn continues as another one,
// and the end of a review returns to its session.
func (r record) interrupts() bool {
	return r.kind() == "turn_aborted" && r.Payload.Reason != "replaced" && r.Payload.Reason != "review_ended"
}

// failed returns the error that ended a turn.
func (r record) failed() (f Failure, ended bool) {
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
		name, _ := r.Payload.Failure.info()
		return r.Payload.Failure, name != "thread_rollback_failed" && name != "active_turn_not_steerable"
	default:
		return f, false
	}
}

// info returns the name of the error and its HTTP status; 0: none. Codex writes it as a name, or as an
// object with the name as its key.
func (f Failure) info() (name string, status int) {
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

// at returns the record's timestamp, which every version writes.
func (r record) at(file time.Time) time.Time { return agent.Written(r.Timestamp, file) }

// Size returns the size of the context at an answer. The provider promises to cache it for five to ten
// minutes.
func Size(line lines.Line) (resume.Context, bool) {
	if !mayBe(line.Data, tokenCount) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	tokens := r.Payload.Tokens.Last.Total
	return resume.Context{Tokens: tokens, At: r.at(line.ModTime), Warm: 10 * time.Minute}, ok && r.kind() == tokenCount && tokens > 0
}
