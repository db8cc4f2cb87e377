// Package claude reads what Claude Code says elsewhere than in its transcripts:
// on the output of a run, to a hook, on a screen.
package claude

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/claude"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is whose files are read here.
const Name = room.Name

// Reader reads what was recorded of Claude Code.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// Recognises reports whether a file that begins with head is a transcript of
// Claude Code.
func (Reader) Recognises(head []byte) bool {
	for line := range bytes.Lines(head) {
		var r struct {
			Type      string `json:"type"`
			SessionID string `json:"sessionId"`
			UUID      string `json:"uuid"`
			Version   string `json:"version"`
			Message   struct {
				Parts json.RawMessage `json:"parts"`
			} `json:"message"`
			Payload json.RawMessage `json:"systemPayload"`
		}
		if json.Unmarshal(line, &r) != nil || !agent.IsUUID(r.SessionID) {
			continue
		}
		switch r.Type {
		case "user", "assistant", "system", "attachment":
			if agent.IsUUID(r.UUID) && r.Version != "" {
				return r.Message.Parts == nil && r.Payload == nil // another agent's records differ in where they say something
			}
		case "queue-operation", "mode", "permission-mode":
			return true
		}
	}
	return false
}

// GoesOn reports whether the transcript ends with Claude Code's word that it
// will go on by itself.
func (Reader) GoesOn(path string) bool { return transcript.GoesOn(path) }

// printed is one record of what Claude Code says to programs: on the standard
// output of a run with --output-format json or stream-json, or to a hook. It
// has much of a transcript's records, in other letters.
type printed struct {
	Type      string             `json:"type"`
	Subtype   string             `json:"subtype"`
	SessionID string             `json:"session_id"`
	Cwd       string             `json:"cwd"`
	Timestamp string             `json:"timestamp"`
	Parent    string             `json:"parent_tool_use_id"` // of what a subagent says
	Message   transcript.Message `json:"message"`
	Mode      string             `json:"permissionMode"` // of the record that begins a run
	RateLimit transcript.Quota   `json:"rate_limit_info"`
	IsError   bool               `json:"is_error"`
	Result    string             `json:"result"`
	Terminal  string             `json:"terminal_reason"`
	Turns     int                `json:"num_turns"`
	Cost      *float64           `json:"total_cost_usd"`
	Retry     int                `json:"error_status"` // of what is tried again
	Failed    bool               `json:"is_api_error_message"`
	Error     string             `json:"error"`
	APIError  string             `json:"api_error"`
	Status    int                `json:"api_error_status"`
	ErrorType string             `json:"api_error_type"`
	Params    struct {
		RateLimit transcript.Quota `json:"rate_limit_info"`
	} `json:"api_error_params"`

	Hook       string `json:"hook_event_name"`
	Transcript string `json:"transcript_path"`
	Answer     string `json:"last_assistant_message"`
}

func parsePrinted(data []byte) (printed, bool) {
	var p printed
	return p, agent.Decode(data, &p) && (p.Type != "" || p.Hook != "")
}

// isOurs reports whether nobody but Claude Code prints such a record. Its
// descendants print records of the same types.
func (p printed) isOurs() bool {
	if !agent.IsUUID(p.SessionID) {
		return false
	}
	switch p.Type {
	case "system":
		return p.Mode != "" || p.Subtype == "api_retry"
	case "assistant":
		return p.Message.Model == transcript.Synthetic || strings.HasPrefix(p.Message.Model, "claude-")
	case "result":
		return p.Cost != nil
	case "rate_limit_event":
		return true
	default:
		return p.isHook()
	}
}

func (p printed) isHook() bool {
	return p.Hook != "" && strings.Contains(p.Transcript, "/projects/") && strings.HasSuffix(p.Transcript, p.SessionID+".jsonl")
}

// Printed says what the streams of a run in print mode tell. One that prints
// plain text tells nothing else than words.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	l := r.listen(rec)
	return l.told, l.told.Event != nil && !l.hooks
}

func (r Reader) listen(rec agent.Recording) listener {
	l := r.follow(rec.Text, rec)
	if !l.ours && l.told.Event == nil && rec.Beside != "" {
		l = r.follow(rec.Beside, rec)
		l.told.Beside = true
	}
	return l
}

func (r Reader) follow(text string, rec agent.Recording) listener {
	l := listener{reader: r.limits, at: rec.At, exact: rec.Exact}
	for line, data := range agent.Records(text) {
		if p, ok := parsePrinted(data); ok {
			l.hear(p, line)
		}
	}
	return l
}

// listener follows the records of one run.
type listener struct {
	reader limit.Reader
	at     time.Time // of the last record that tells its time
	exact  bool      // at is when it was said
	ours   bool
	hooks  bool
	quota  transcript.Quota // as it was last refused
	told   recording.Told
}

func (l *listener) hear(p printed, line int) {
	l.ours = l.ours || p.isOurs()
	l.hooks = l.hooks || p.isHook()
	if p.Parent != "" {
		return // a subagent's: the run goes on without it
	}
	if at, err := time.Parse(time.RFC3339, p.Timestamp); err == nil {
		l.at, l.exact = at, true
	}
	if agent.IsUUID(p.SessionID) {
		l.told.Session = p.SessionID
	}
	if l.told.Cwd == "" {
		l.told.Cwd = p.Cwd
	}
	if p.RateLimit.Status == "rejected" {
		l.quota = p.RateLimit
	}
	if event := l.event(p); event != nil {
		l.told.Event, l.told.Line = event, line
	}
}

// event returns what a record says, or nil where it says nothing new.
func (l *listener) event(p printed) resume.Event {
	failed, _ := l.told.Event.(resume.Limited)
	hasFailed := failed.Class != limit.None && !failed.InProgress
	switch {
	case p.isHook():
		return l.hook(p)
	case p.Type == "system" && p.Subtype == "init" && !hasFailed:
		return resume.Prompted{At: l.at}
	case p.Type == "system" && p.Subtype == "api_retry":
		return l.retried(p)
	case p.Type == "assistant" && p.Failed:
		return l.failed(p, p.Message.Text())
	case p.Type == "assistant" && p.Message.FromModel():
		return resume.Progressed{At: l.at}
	case p.Type == "user" && p.Message.Interrupts(), p.Type == "result" && strings.HasPrefix(p.Terminal, "aborted"):
		return resume.Cancelled{At: l.at}
	case p.Type != "result", hasFailed && (p.Result == failed.Text || p.Turns == 0):
		return nil // the answer to a subagent's notice comes after the failure
	case p.IsError && !strings.HasPrefix(p.Subtype, "error_max_"):
		return l.failed(p, p.Result)
	default:
		return resume.Progressed{At: l.at}
	}
}

func (l *listener) hook(p printed) resume.Event {
	switch p.Hook {
	case "StopFailure":
		return l.failed(p, p.Answer)
	case "Stop":
		return resume.Progressed{At: l.at}
	case "UserPromptSubmit":
		return resume.Prompted{At: l.at}
	default:
		return nil
	}
}

// failed is the end of a run that failed.
func (l *listener) failed(p printed, text string) resume.Event {
	l.reader.At = l.at
	r := transcript.Refusal{Text: text, Error: p.Error, APIError: p.APIError, Status: p.Status, ErrorType: p.ErrorType, Quota: l.quota}
	if p.Params.RateLimit.Stated() {
		r.Quota = p.Params.RateLimit
	}
	v := r.Verdict(l.reader)
	if at, ok := l.quota.Reset(); ok && v.Class == limit.UsageLimit {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	if !l.exact {
		v.Reset = withinWindow(v.Reset, text, l.at)
	}
	return resume.Limited{At: l.at, Verdict: v, Text: agent.Clip(text)}
}

var (
	shortWindow = regexp.MustCompile(`(?i)\b(?:5-hour|session) limit\b`)
	window      = 5*time.Hour + 10*time.Minute
)

// withinWindow mends the reset of a recording that was copied after the reset: a
// window of five hours opens again within five hours, so a clock time that is
// further away is one that has passed.
func withinWindow(reset limit.Reset, text string, at time.Time) limit.Reset {
	if reset.Rough && shortWindow.MatchString(text) && reset.At.Sub(at) > window {
		reset.At = reset.At.AddDate(0, 0, -1)
	}
	return reset
}

// retried is a refusal that Claude Code tries again by itself.
func (l *listener) retried(p printed) resume.Event {
	l.reader.At = l.at
	v := l.reader.Refusal(limit.Refusal{Status: p.Retry, Code: p.Error})
	if v.Class == limit.None || v.Class == limit.Unknown {
		v.Class = limit.Network // there was no answer
	}
	v.WaitHelps, v.InProgress = true, true
	return resume.Limited{At: l.at, Verdict: v, Text: agent.Clip("retrying: " + p.Error)}
}

// Recorded says what a recording tells: the output of a run, what a hook was
// told, or a screen.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	if l := r.listen(rec); l.ours {
		kind := recording.RunOutput
		if l.hooks {
			kind = recording.HookCalls
		}
		return recording.Report{Kind: kind, Told: []recording.Told{l.told}}, true
	}
	told, ok := r.shown(rec)
	return recording.Report{Kind: recording.Screen, Told: []recording.Told{told}}, ok
}
