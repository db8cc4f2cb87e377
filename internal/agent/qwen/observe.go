package qwen

import (
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Observe says what one line of a chat means for its session.
func (a *Agent) Observe(src agent.Source, line agent.Line) (resume.Observation, bool) {
	if line.Cut {
		return resume.Observation{}, false // not a whole record: nothing can be said of it
	}
	r, ok := parse(agent.Lean(line.Data))
	if !ok || r.IsSidechain {
		return resume.Observation{}, false
	}
	event, ok := a.event(r, line)
	if !ok {
		return resume.Observation{}, false
	}
	id := r.SessionID
	if !uuid.MatchString(id) {
		id = strings.TrimSuffix(filepath.Base(line.Path), ".jsonl")
	}
	if !uuid.MatchString(id) {
		return resume.Observation{}, false
	}
	return resume.Observation{
		Key:        resume.Key{Agent: Name, ID: id},
		Account:    src.Account,
		Provider:   r.Payload.Event.Auth,
		Cwd:        r.Cwd,
		Transcript: line.Path,
		Event:      event,
	}, true
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
		reader := a.reader
		reader.At = at
		v := failure.verdict(reader)
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
		v.Class, v.WaitHelps = limit.BadRequest, false // what failed in a way nobody knows is not tried again
	}
	return v
}
