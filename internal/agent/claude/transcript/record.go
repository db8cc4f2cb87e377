package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

type record struct {
	Type        string  `json:"type"`
	Subtype     string  `json:"subtype"`
	Notice      string  `json:"content"` // of a record of type system
	SessionID   string  `json:"sessionId"`
	Cwd         string  `json:"cwd"`
	Entrypoint  string  `json:"entrypoint"`
	Timestamp   string  `json:"timestamp"`
	IsSidechain bool    `json:"isSidechain"`
	Message     message `json:"message"`
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
}

// message is a message of the conversation.
type message struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"` // a string or blocks
	Usage      tokens          `json:"usage"`
}

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

// synthetic is the model in messages of Claude Code itself.
const synthetic = "<synthetic>"

// A partial answer is followed by a record that tells who interrupted it.
func (r record) moved() bool {
	return r.Type == "assistant" && !r.IsAPIError && !r.Aborted && r.Message.Model != "" && r.Message.Model != synthetic
}

func (r record) interrupts() bool {
	return r.Type == "user" && !r.IsMeta && !r.QueueOnly && strings.HasPrefix(r.Message.text(), interrupted)
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

const taskNotice = "task-notification"

func (r record) endsSubagent() bool {
	return r.Type == "user" && r.Origin.Kind == taskNotice
}

// blocks returns the content. A plain string is one block of text.
func (m message) blocks() []block {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var all []block
	lines.Decode(m.Content, &all)
	return all
}

// Text returns the text of the content.
func (m message) text() string { return textOf(m.blocks()) }

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

// Refusal is a request that was refused: in a transcript, in the output of a run, or for a hook.
type Refusal struct {
	Text      string `json:"-"`
	Error     string `json:"error"`    // Claude Code's own code
	APIError  string `json:"apiError"` // a more precise one, in later versions
	Status    int    `json:"apiErrorStatus"`
	ErrorType string `json:"apiErrorType"`     // the provider's code
	Hopeless  bool   `json:"resendCannotCure"` // sending the same again does not help
	Quota     Quota  `json:"quotaLimits"`
}

func (r record) refusal() Refusal {
	f := r.Refusal
	f.Text = r.Message.text()
	if r.Params.RateLimit.stated() {
		f.Quota = r.Params.RateLimit
	}
	return f
}

// Verdict returns the meaning of a refusal. Versions before 2.1.198 have little more than text.
func (f Refusal) Verdict(reader limit.Reader) limit.Verdict {
	v := reader.Refusal(limit.Refusal{Status: f.Status, Code: f.ErrorType, Text: f.Text})
	v.Class = f.class(v)
	v.InProgress = false // Claude Code writes this when it has given up
	v.WaitHelps = v.Class.Transient() && !f.Hopeless
	if at, ok := f.Quota.Reset(); ok && f.outOfQuota() {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}

// class returns the class by the refusal's fields, else by its words. The error code "rate_limit"
// alone is used for a throttle, a usage limit, a spend cap and missing credits.
func (f Refusal) class(words limit.Verdict) limit.Class {
	switch {
	case f.outOfQuota():
		window := f.Quota.Type
		if window == "overage" || window == "" && words.Class == limit.Billing {
			return limit.Billing // a spend cap: it must be raised, waiting does not help
		}
		return limit.UsageLimit
	case strings.HasSuffix(f.APIError, "credits_required"):
		return limit.Billing
	case f.APIError == "connection_failed":
		return limit.Network
	case f.Status == 402:
		return limit.Billing
	case f.Status == 529:
		return limit.Overloaded
	case f.Error != "":
		named, known := errorClasses[f.Error]
		if !known || slices.Contains(named.unless, words.Class) {
			return words.Class
		}
		return named.class
	case words.Class == limit.Billing && words.Reset.Stated():
		return limit.UsageLimit // 2.0 calls a window that resets by itself a spending cap
	default:
		return words.Class
	}
}

// errorClasses are those of Claude Code's codes, unless the words tell a listed class, which is more precise.
var errorClasses = map[string]struct {
	class  limit.Class
	unless []limit.Class
}{
	"billing_error":          {class: limit.Billing},
	"authentication_failed":  {limit.Auth, []limit.Class{limit.Billing, limit.UsageLimit, limit.RateLimit}}, // used for any 403
	"oauth_org_not_allowed":  {class: limit.Auth},
	"account_on_hold":        {class: limit.Auth},
	"verification_required":  {class: limit.Auth},
	"cloud_credential_error": {class: limit.Auth},
	"overloaded":             {class: limit.Overloaded},
	"model_not_found":        {class: limit.BadRequest},
	"max_output_tokens":      {class: limit.BadRequest},
	"invalid_request":        {limit.BadRequest, []limit.Class{limit.ContextOverflow, limit.Billing, limit.UsageLimit, limit.RateLimit}},
	"server_error":           {limit.ServerError, []limit.Class{limit.RateLimit, limit.UsageLimit, limit.Overloaded, limit.Network, limit.Timeout}},
	"rate_limit":             {limit.RateLimit, []limit.Class{limit.UsageLimit, limit.Billing}},
}

// stated reports whether the record contains a quota.
func (q Quota) stated() bool { return q.Status != "" || q.ResetsAt != 0 }

// outOfQuota: a warning has the same form, and other errors may also contain a quota.
func (f Refusal) outOfQuota() bool {
	if f.APIError != "" {
		return f.APIError == "usage_limit_reached"
	}
	return f.Error == "rate_limit" && f.Quota.Status == "rejected"
}

// Trace returns what a line says about tools.
func (rd *Reader) Trace(line lines.Line) agent.ToolUse {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return agent.ToolUse{}
	}
	t := agent.ToolUse{At: r.at(line.ModTime)}
	event, _ := rd.event(r, line)
	switch event.(type) {
	case resume.Limited, resume.Cancelled:
		t.Other = true
		return t
	}
	for _, b := range r.Message.blocks() {
		switch {
		case b.Type == "tool_use":
			t.Calls = append(t.Calls, agent.Call{ID: b.ID, Tool: b.Name, Use: agent.UseOf(b.Input)})
		case b.Type == "tool_result" && b.Failed && r.denies(b):
			t.Denied = &agent.Denial{ID: b.CallID}
		}
	}
	return t
}

// denialWords are the results in versions that do not mark a refusal.
var denialWords = lazy.Regexp(`^(?:Claude requested permissions? to |Permission (?:to|for) .* has been denied|` +
	`.* (?:requires?|needs) approval|.* was blocked\. For security)`)

// An interruption by a person is not a question of permission.
func (r record) denies(result block) bool {
	switch r.Denial {
	case "":
	case "interrupted", "cancelled":
		return false
	default:
		return true
	}
	text := message{Content: result.Content}.text()
	return denialWords().MatchString(text) && !strings.HasPrefix(text, "Exit code") // output of a command may contain anything
}

// DeniedInResult returns the last refusal in the result of a run, if it was printed as JSON.
func DeniedInResult(output string) (agent.Denial, bool) {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var result struct {
		Type    string `json:"type"`
		Denials []struct {
			Tool  string         `json:"tool_name"`
			Input map[string]any `json:"tool_input"`
		} `json:"permission_denials"`
	}
	if json.Unmarshal([]byte(lines[len(lines)-1]), &result) != nil || result.Type != "result" || len(result.Denials) == 0 {
		return agent.Denial{}, false
	}
	last := result.Denials[len(result.Denials)-1]
	return agent.Denial{Tool: last.Tool, Use: agent.UseOf(last.Input)}, true
}
