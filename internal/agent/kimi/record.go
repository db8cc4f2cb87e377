package kimi

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// record is one line of a session's file.
type record struct {
	Type   string  `json:"type"`
	Time   float64 `json:"time"` // in milliseconds
	Reason string  `json:"reason"`

	// of the end of a turn
	Error failure `json:"error"`

	// of a request that will be retried
	Delay   float64 `json:"delayMs"`
	Name    string  `json:"errorName"`
	Message string  `json:"errorMessage"`
	Status  int     `json:"statusCode"`

	// of a prompt
	Input  agent.Parts `json:"input"`
	Origin struct {
		Kind string `json:"kind"`
	} `json:"origin"`

	Event  step   `json:"event"`
	Mode   string `json:"mode"`
	Tokens int64  `json:"tokens"`
}

// The types that matter.
const (
	prompted  = "turn.prompt"
	steered   = "turn.steer"
	stepped   = "context.append_loop_event"
	retrying  = "turn.step.retrying"
	turnEnded = "turn.ended"
	undone    = "context.undo"
	cleared   = "context.clear"
	moded     = "permission.set_mode"
	measured  = "token_counting.measured"
)

// step is an action of the model, or its result.
type step struct {
	Type string     `json:"type"`
	Part agent.Part `json:"part"`
}

// failure is why a turn ended.
type failure struct {
	Code    string `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Details struct {
		Status int `json:"statusCode"`
	} `json:"details"`
	Cause struct {
		Code string `json:"code"`
		Name string `json:"name"`
	} `json:"cause"`
}

// sift ignores bookkeeping and requests.
var sift = agent.SiftByType([]string{stepped}, []string{turnEnded, prompted, steered, retrying, undone, cleared})

// read returns what a record means. The process may retry a failed request: as long as it is alive it owns the session,
// and its next records tell more.
func read(line lines.Line, limits func(time.Time) limit.Reader) (agent.Record, bool) {
	r, ok := lines.Parse[record](line.Data)
	if !ok {
		return agent.Record{}, false
	}
	at := r.at(line.ModTime)
	said := agent.Record{ToolUse: agent.ToolUse{At: at}, Prompt: r.Input.Text()}
	switch {
	case r.Type == turnEnded && r.Reason == "failed":
		said.Event = r.Error.event(limits(at), time.Time{})
	case r.Type == retrying:
		f := r.Error
		f.Name, f.Message, f.Details.Status = r.Name, r.Message, r.Status
		said.Event = f.event(limits(at), r.until(at))
	case r.moved():
		said.Event = resume.Progressed{At: at}
	case r.Type == prompted, r.Type == steered:
		said.Event = resume.Prompted{At: at, By: r.by()}
	case r.Type == turnEnded && r.Reason == "cancelled", r.Type == undone, r.Type == cleared:
		said.Event = resume.Cancelled{At: at}
	case r.Type == moded:
		said.Mode = r.Mode
	case r.Type == measured:
		said.Tokens = r.Tokens
	}
	return said, true
}

// place returns the session of a file and its directory, which is in a file of Kimi Code beside it. A copy does not
// contain its session.
func place(line lines.Line) (session, cwd string) {
	dir := sessionDir(line.Path)
	if session = filepath.Base(dir); !isID(session) {
		session = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl")
	}
	var state struct {
		Cwd string `json:"cwd"`
	}
	agent.ReadJSON(filepath.Join(dir, "state.json"), &state)
	return session, state.Cwd
}

// moved reports whether the model answered, or called a tool.
func (r record) moved() bool {
	return r.Type == stepped && (r.Event.Type == "tool.call" || r.Event.Type == "content.part" && strings.TrimSpace(r.Event.Part.Text) != "")
}

// by returns the source of a prompt; empty: a person, or a command line.
func (r record) by() string {
	if r.Origin.Kind != "" && r.Origin.Kind != "user" {
		return "Kimi Code itself"
	}
	return ""
}

// at returns the record's timestamp. If it is missing or impossible, the file's time is used.
func (r record) at(file time.Time) time.Time {
	if t := time.UnixMilli(int64(r.Time)); r.Time > 0 && resume.Possible(t) {
		return t
	}
	return file
}

// event returns the event of a failure.
func (f failure) event(limits limit.Reader, until time.Time) resume.Event {
	return resume.Limited{At: limits.At, Verdict: f.verdict(limits, until), Text: agent.Clip(f.Message)}
}

// ownDelay is longer than Kimi Code's own delay between two retries: a longer one was stated by the provider.
const ownDelay = time.Minute

// until returns when a request is retried, if the provider stated it.
func (r record) until(at time.Time) time.Time {
	if delay := time.Duration(r.Delay * float64(time.Millisecond)); delay > ownDelay && resume.Possible(at.Add(delay)) {
		return at.Add(delay)
	}
	return time.Time{}
}

// Verdict returns the meaning of a run's failure, by the code and the message that it printed.
func Verdict(limits limit.Reader, code, message string) limit.Verdict {
	f := failure{Code: code, Message: message}
	first, _, _ := strings.Cut(message, " ")
	if status, err := strconv.Atoi(first); err == nil && len(first) == 3 {
		f.Details.Status = status
	}
	return f.verdict(limits, time.Time{})
}

// verdict returns the meaning of a failure: by its status and text, and by Kimi Code's own code. A 403 of a provider
// may mean a wrong key or a used up allowance: the text decides.
func (f failure) verdict(limits limit.Reader, until time.Time) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: f.Details.Status, Text: f.Message})
	allowance := v.Class == limit.UsageLimit || v.Class == limit.Billing
	switch code := f.Code; {
	case f.Name == "APIProviderQuotaExhaustedError" && !v.Reset.Stated():
		v.Class, v.WaitHelps = limit.Billing, false
	case code == "provider.auth_error" && (f.Details.Status == 401 || !allowance), code == "auth.login_required":
		v.Class, v.WaitHelps = limit.Auth, false
	case code == "context.overflow", f.Cause.Code == "context.overflow", f.Name == "APIContextOverflowError":
		v.Class, v.WaitHelps = limit.ContextOverflow, false
	case code == "provider.filtered", code == "loop.max_steps_exceeded", strings.HasPrefix(code, "model."):
		v.Class, v.WaitHelps = limit.BadRequest, false
	case code == "provider.overloaded", f.Name == "APIProviderOverloadedError":
		v.Class, v.WaitHelps = limit.Overloaded, true
	case (code == "provider.rate_limit" || f.Name == "APIProviderRateLimitError") && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.RateLimit, true
	case code == "provider.connection_error" && !v.Class.Transient():
		v.Class, v.WaitHelps = limit.Network, true
	}
	v = agent.Failed(v)
	if !until.IsZero() && v.WaitHelps {
		v.Reset = limit.Reset{At: until, Source: limit.Structured, Counted: true}
	}
	return v
}
