package codex

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// message is one message of an app-server, a notification or an answer, with field names as in rollouts.
type message struct {
	Method string `json:"method"`
	Params struct {
		Thread    string `json:"thread_id"`
		WillRetry bool   `json:"will_retry"`
		Error     struct {
			rollout.Failure
			Details string `json:"additional_details"`
		} `json:"error"`
		Turn struct {
			Status string           `json:"status"`
			Error  *rollout.Failure `json:"error"`
		} `json:"turn"`
		Limits rollout.RateLimits `json:"rate_limits"`
	} `json:"params"`
	Result struct {
		Limits json.RawMessage `json:"rate_limits"`
		Thread json.RawMessage `json:"thread"`
	} `json:"result"`
	AtMS float64 `json:"emitted_at_ms"`
}

var (
	camelCase = regexp.MustCompile(`"[a-z]+(?:[A-Z][a-z]+)+"`)
	hump      = regexp.MustCompile(`[A-Z]`)
)

// snakeCase converts the names in a message, including values that are names, to those of rollouts.
func snakeCase(data []byte) []byte {
	return camelCase.ReplaceAllFunc(data, func(name []byte) []byte {
		if string(name) == `"windowDurationMins"` {
			return []byte(`"window_minutes"`)
		}
		return hump.ReplaceAllFunc(name, func(letter []byte) []byte { return append([]byte{'_'}, letter[0]|0x20) })
	})
}

// served reads the messages of an app-server, which concern many sessions.
func (r reader) served(rec headless.Recording) []recording.Told {
	var told []recording.Told
	var limits rollout.RateLimits
	at, ok := rec.At, false
	for line, data := range headless.Records(rec.Text) {
		m, _ := lines.Parse[message](snakeCase(data))
		ok = ok || m.isServers()
		if emitted, stated := limit.Epoch(m.AtMS); stated {
			at = emitted
		}
		if m.Method == "account/rateLimits/updated" {
			limits = m.Params.Limits
		}
		if event := r.notified(m, at, limits); event != nil {
			told = recording.Update(told, recording.Told{Session: m.Params.Thread, Event: event, Line: line})
		}
	}
	return orNothing(told, ok)
}

// orNothing returns told. If the recording was recognised but concerns no session, it returns one empty entry.
func orNothing(told []recording.Told, recognised bool) []recording.Told {
	if recognised && len(told) == 0 {
		return []recording.Told{{}}
	}
	return told
}

func (m message) isServers() bool {
	return agent.IsUUID(m.Params.Thread) && m.Method != "" || strings.HasPrefix(m.Method, "account/rateLimits/") ||
		isObject(m.Result.Limits) || isObject(m.Result.Thread)
}

func isObject(data json.RawMessage) bool { return len(data) > 0 && data[0] == '{' }

// notified returns the event of a message, or nil.
func (r reader) notified(m message, at time.Time, limits rollout.RateLimits) resume.Event {
	if !agent.IsUUID(m.Params.Thread) {
		return nil
	}
	turn := m.Params.Turn
	switch {
	case m.Method == "turn/started":
		return resume.Prompted{At: at}
	case m.Method == "error" && m.Params.WillRetry:
		return r.tried(m, at)
	case m.Method == "error":
		return r.refused(m.Params.Error.Failure, at, limits)
	case m.Method == "turn/completed" && turn.Status == "failed" && turn.Error == nil:
		return nil // the error was in an earlier message
	case m.Method == "turn/completed" && turn.Status == "failed":
		return r.refused(*turn.Error, at, limits)
	case m.Method == "turn/completed" && turn.Status == "interrupted":
		return resume.Cancelled{At: at}
	case m.Method == "turn/completed", m.Method == "item/completed":
		return resume.Progressed{At: at}
	default:
		return nil
	}
}

// tried returns the event of an error that Codex retries.
func (r reader) tried(m message, at time.Time) resume.Event {
	f := m.Params.Error.Failure
	if m.Params.Error.Details != "" {
		f.Message += " (" + m.Params.Error.Details + ")"
	}
	refused := r.refused(f, at, rollout.RateLimits{})
	refused.Verdict = inProgress(refused.Verdict)
	return refused
}

// call is the input of a hook or a notify program.
type call struct {
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Cwd        string `json:"cwd"`
	Hook       string `json:"hook_event_name"`
	Type       string `json:"type"`
	Thread     string `json:"thread-id"`
}

// hooked reads a log of the input of hooks and notify programs: one record per line, possibly after other text. Codex
// does not report failures to them.
func hooked(rec headless.Recording) []recording.Told {
	var told []recording.Told
	n, ok := 0, false
	for line := range strings.Lines(rec.Text) {
		n++
		_, record, _ := strings.Cut(line, "{")
		c, _ := lines.Parse[call]([]byte("{" + record))
		called := c.Hook != "" && agent.IsUUID(c.Session) && strings.Contains(c.Transcript, "rollout-")
		notified := c.Type == "agent-turn-complete" && agent.IsUUID(c.Thread)
		ok = ok || called || notified
		var event resume.Event
		switch {
		case notified:
			c.Session, event = c.Thread, resume.Progressed{At: rec.At}
		case called && c.Hook == "Stop":
			event = resume.Progressed{At: rec.At}
		case called && c.Hook == "UserPromptSubmit":
			event = resume.Prompted{At: rec.At}
		default:
			continue
		}
		told = recording.Update(told, recording.Told{Session: c.Session, Cwd: c.Cwd, Event: event, Line: n})
	}
	return orNothing(told, ok)
}
