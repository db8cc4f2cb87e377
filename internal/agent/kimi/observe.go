package kimi

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// read says what a record means for its session.
func (a *Agent) read(line agent.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok {
		return o, false
	}
	if o.Event, ok = a.event(r, line); !ok {
		return o, false
	}
	o.Key.ID, o.Cwd = filepath.Base(sessionDir(line.Path)), a.placeOf(line.Path)
	if !isID(o.Key.ID) { // a copy, which says nowhere of which session it is
		o.Key.ID = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl")
	}
	return o, true
}

// event returns what a record says. A request that failed may be tried again by the
// process that made it: as long as that lives it owns the session, and what it writes
// next tells more.
func (a *Agent) event(r record, line agent.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	switch {
	case at.IsZero():
		return nil, false
	case r.Type == turnEnded && r.Reason == "failed", r.Type == retrying:
		f, text := r.failed()
		return resume.Limited{At: at, Verdict: f.verdict(a.LimitsAt(at), r.until(at)), Text: agent.Clip(text)}, true
	case r.moved():
		return resume.Progressed{At: at}, true
	case r.Type == prompted, r.Type == steered:
		return resume.Prompted{At: at, By: r.by()}, true
	case r.Type == turnEnded && r.Reason == "cancelled", r.Type == undone, r.Type == cleared:
		return resume.Cancelled{At: at}, true
	default:
		return nil, false
	}
}

// failed returns what failed, and its words.
func (r record) failed() (failure, string) {
	f := r.Error
	if r.Type == retrying {
		f.Name, f.Message, f.Details.Status = r.Name, r.Message, r.Status
	}
	return f, f.Message
}

// ownDelay is more than Kimi Code waits by itself between two tries: a longer wait is
// what its provider has stated.
const ownDelay = time.Minute

// until returns when a request is tried again, where the provider has said so.
func (r record) until(at time.Time) time.Time {
	if delay := time.Duration(r.Delay * float64(time.Millisecond)); r.Type == retrying && delay > ownDelay && resume.Possible(at.Add(delay)) {
		return at.Add(delay)
	}
	return time.Time{}
}

// Verdict says what a run means by the code and the words of its failure, as it prints
// them.
func Verdict(limits limit.Reader, code, message string) limit.Verdict {
	f := failure{Code: code, Message: message}
	first, _, _ := strings.Cut(message, " ")
	if status, err := strconv.Atoi(first); err == nil && len(first) == 3 {
		f.Details.Status = status
	}
	return f.verdict(limits, time.Time{})
}

// verdict says what a failure means: by its status, its words, and by what Kimi Code
// takes it for. A provider says with 403 both that a key is wrong and that an allowance
// is used up: the words tell which.
func (f failure) verdict(limits limit.Reader, until time.Time) limit.Verdict {
	v := limits.Refusal(limit.Refusal{Status: f.Details.Status, Text: f.Message})
	v.InProgress = false
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
	case v.Class == limit.None:
		v.Class, v.WaitHelps = limit.Unknown, true // it failed, and says nothing
	}
	if !until.IsZero() && v.WaitHelps {
		v.Reset = limit.Reset{At: until, Source: limit.Structured, Counted: true}
	}
	return v
}

// placeOf returns where the session of a file works, or "" where nobody knows. It stands
// in what Kimi Code keeps of the session beside it.
func (a *Agent) placeOf(wire string) string {
	if dir, known := a.places.Get(wire); known {
		return dir
	}
	var state struct {
		Cwd string `json:"cwd"`
	}
	data, err := agent.ReadSettings(filepath.Join(sessionDir(wire), "state.json"))
	if err != nil || json.Unmarshal(data, &state) != nil || state.Cwd == "" {
		return ""
	}
	a.places.Put(wire, state.Cwd)
	return state.Cwd
}
