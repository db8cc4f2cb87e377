package codex

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/explain/recording"
	"resumed/internal/resume"
)

// message is one message of an app-server: what it tells by itself, or an
// answer.
type message struct {
	Method string `json:"method"`
	Params struct {
		Thread    string        `json:"threadId"`
		WillRetry bool          `json:"willRetry"`
		Error     servedFailure `json:"error"`
		Turn      struct {
			Status string         `json:"status"`
			Error  *servedFailure `json:"error"`
		} `json:"turn"`
		Status struct {
			Type string `json:"type"`
		} `json:"status"`
		Limits servedLimits `json:"rateLimits"`
	} `json:"params"`
	Result struct {
		Limits *servedLimits   `json:"rateLimits"`
		Thread json.RawMessage `json:"thread"`
	} `json:"result"`
	AtMS float64 `json:"emittedAtMs"`
}

// servedFailure is a failure in an app-server's letters.
type servedFailure struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
}

// servedLimits are rate limits in an app-server's letters.
type servedLimits struct {
	Primary   servedWindow `json:"primary"`
	Secondary servedWindow `json:"secondary"`
	Spent     bool         `json:"spendControlReached"`
	Reached   string       `json:"rateLimitReachedType"`
}

type servedWindow struct {
	Used     float64         `json:"usedPercent"`
	Minutes  float64         `json:"windowDurationMins"`
	ResetsAt json.RawMessage `json:"resetsAt"`
}

var hump = regexp.MustCompile(`[A-Z]`)

// snake writes names as rollouts do.
func snake(text []byte) []byte {
	return hump.ReplaceAllFunc(text, func(letter []byte) []byte { return append([]byte{'_'}, letter[0]|0x20) })
}

func (f servedFailure) asWritten() rollout.Failure {
	return rollout.Failure{Message: f.Message, Info: snake(f.Info)}
}

func (l servedLimits) asWritten() rollout.RateLimits {
	return rollout.RateLimits{Primary: rollout.Window(l.Primary), Secondary: rollout.Window(l.Secondary), Spent: l.Spent, Reached: l.Reached}
}

// served reads the messages of an app-server, which tell of many sessions.
func (r Reader) served(rec agent.Recording) (told []recording.Told, ok bool) {
	var limits rollout.RateLimits
	at := rec.At
	for line, data := range agent.Records(rec.Text) {
		var m message
		if !agent.Decode(data, &m) {
			continue
		}
		ok = ok || m.isServers()
		if ms := recording.Millis(m.AtMS); ms != 0 {
			at = time.UnixMilli(ms).UTC()
		}
		if m.Method == "account/rateLimits/updated" {
			limits = m.Params.Limits.asWritten()
		}
		if event := r.notified(m, at, limits); event != nil {
			told = with(told, recording.Told{Session: m.Params.Thread, Event: event, Line: line})
		}
	}
	if ok && len(told) == 0 {
		told = []recording.Told{{}}
	}
	return told, ok
}

func (m message) isServers() bool {
	return agent.IsUUID(m.Params.Thread) && m.Method != "" || strings.HasPrefix(m.Method, "account/rateLimits/") ||
		m.Result.Limits != nil || len(m.Result.Thread) > 0 && m.Result.Thread[0] == '{'
}

// notified returns what a message says of its session, or nil.
func (r Reader) notified(m message, at time.Time, limits rollout.RateLimits) resume.Event {
	if !agent.IsUUID(m.Params.Thread) {
		return nil
	}
	switch m.Method {
	case "turn/started":
		return resume.Prompted{At: at}
	case "item/completed":
		return resume.Progressed{At: at}
	case "error":
		return r.errs(m, at, limits)
	case "turn/completed":
		switch turn := m.Params.Turn; turn.Status {
		case "failed":
			if turn.Error == nil {
				return nil // the error before it told
			}
			return r.refusedWith(turn.Error.asWritten(), at, limits)
		case "interrupted":
			return resume.Cancelled{At: at}
		default:
			return resume.Progressed{At: at}
		}
	default:
		return nil
	}
}

func (r Reader) errs(m message, at time.Time, limits rollout.RateLimits) resume.Event {
	f := m.Params.Error.asWritten()
	if !m.Params.WillRetry {
		return r.refusedWith(f, at, limits)
	}
	if m.Params.Error.Details != "" {
		f.Message += " (" + m.Params.Error.Details + ")"
	}
	refused := r.refusedWith(f, at, rollout.RateLimits{})
	refused.Verdict = inProgress(refused.Verdict)
	return refused
}

// with notes what happened to a session last.
func with(all []recording.Told, last recording.Told) []recording.Told {
	at := slices.IndexFunc(all, func(t recording.Told) bool { return t.Session == last.Session })
	if at < 0 {
		return append(all, last)
	}
	all[at] = last
	return all
}

// call is what a hook or a notifier is told.
type call struct {
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Cwd        string `json:"cwd"`
	Hook       string `json:"hook_event_name"`
	Type       string `json:"type"`
	Thread     string `json:"thread-id"`
}

// hooked reads a log of what hooks and notifiers were told: records, each
// perhaps behind words. Codex tells them of no failure.
func hooked(rec agent.Recording) (told []recording.Told, ok bool) {
	n := 0
	for line := range strings.Lines(rec.Text) {
		n++
		begin := strings.IndexByte(line, '{')
		var c call
		if begin < 0 || !agent.Decode([]byte(line[begin:]), &c) {
			continue
		}
		var event resume.Event = resume.Prompted{At: rec.At}
		switch {
		case c.Type == "agent-turn-complete" && agent.IsUUID(c.Thread):
			c.Session, event = c.Thread, resume.Progressed{At: rec.At}
		case c.Hook == "" || !agent.IsUUID(c.Session) || !strings.Contains(c.Transcript, "rollout-"):
			continue
		case c.Hook == "Stop":
			event = resume.Progressed{At: rec.At}
		case c.Hook != "UserPromptSubmit":
			ok = true
			continue
		}
		ok = true
		told = with(told, recording.Told{Session: c.Session, Cwd: c.Cwd, Event: event, Line: n})
	}
	if ok && len(told) == 0 {
		told = []recording.Told{{}}
	}
	return told, ok
}
