package qwen

import (
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// read says what a line of a chat means for its session.
func (a *Agent) read(line agent.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok || r.IsSidechain {
		return o, false
	}
	if o.Event, ok = a.event(r, line); !ok {
		return o, false
	}
	o.Provider, o.Cwd = r.Payload.Event.Auth, r.Cwd
	if o.Key.ID = r.SessionID; !agent.IsUUID(o.Key.ID) {
		o.Key.ID = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl")
	}
	return o, agent.IsUUID(o.Key.ID)
}

// event returns what a record says. A failed request may be tried again by the
// process that made it, and nothing tells when it stops trying: as long as it
// lives it owns the session, and what it writes next tells more.
func (a *Agent) event(r record, line agent.Line) (resume.Event, bool) {
	at := r.at(line.ModTime)
	if at.IsZero() {
		return nil, false
	}
	failure, failed := r.failed()
	switch {
	case failed:
		v := failure.verdict(a.LimitsAt(at))
		if v.Class == limit.Cancelled {
			return resume.Cancelled{At: at}, true
		}
		return resume.Limited{At: at, Verdict: v, Text: agent.Clip(failure.text())}, true
	case r.moved():
		return resume.Progressed{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	case r.rewinds():
		return resume.Cancelled{At: at}, true
	default:
		return nil, false
	}
}

// Verdict says what the words of a failed request mean.
func Verdict(limits limit.Reader, words string) limit.Verdict {
	return telemetry{Message: words}.verdict(limits)
}

// verdict says what the failure of a request means.
func (e telemetry) verdict(reader limit.Reader) limit.Verdict {
	v := reader.Refusal(e.refusal())
	v.InProgress = false
	if v.Class == limit.None {
		v.Class, v.WaitHelps = limit.Unknown, true // it failed, and says nothing
	}
	return v
}
