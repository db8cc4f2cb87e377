// Package codex interprets output of Codex outside of its rollouts: of a run, on a screen, of an app-server, to hooks.
package codex

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/codex"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets output of Codex.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: read}

// Readable returns the path of a file that can be read, as rollout.Readable does.
var Readable = rollout.Readable

type reader struct{ limits limit.Reader }

func read(limits limit.Reader, rec headless.Recording, _ bool) (recording.Report, bool) {
	r := reader{limits}
	if told, ok := r.printed(rec); ok {
		return recording.Of(recording.RunOutput, told), true
	}
	if told := r.served(rec); told != nil {
		return recording.Report{Kind: "the messages of an app-server", Told: told}, true
	}
	if told := hooked(rec); told != nil {
		return recording.Report{Kind: recording.HookCalls, Told: told}, true
	}
	told, ok := r.shown(rec)
	return recording.Of(recording.Screen, told), ok
}

// begins recognises a record of a rollout. The last line of a head may be cut: its beginning is enough.
func begins(line []byte) (is, known bool) {
	kind, _ := lines.Text(line, "type")
	_, timed := lines.Text(line, "timestamp")
	_, full := lines.Field(line, "payload")
	switch string(kind) {
	case "session_meta":
		return full, full
	case "turn_context", "event_msg", "response_item", "world_state":
		return timed, full
	default:
		return false, false
	}
}

// printed interprets the streams of `codex exec`: records with --json, else the text on its standard error.
func (r reader) printed(rec headless.Recording) (recording.Told, bool) {
	return recording.FirstStream(rec,
		func(text string) (recording.Told, bool) { return r.records(text, rec) },
		func(text string) (recording.Told, bool) { return r.report(text, rec) })
}

type execRecord struct {
	Type    string          `json:"type"`
	Thread  string          `json:"thread_id"`
	Message string          `json:"message"`
	Error   rollout.Failure `json:"error"`
	Item    struct {
		Type string `json:"type"`
	} `json:"item"`
}

func (r reader) records(text string, rec headless.Recording) (told recording.Told, ok bool) {
	at := rec.At
	told = recording.Follow(text, func(p execRecord) (t recording.Told) {
		if p.Type == "thread.started" && agent.IsUUID(p.Thread) {
			t.Session, ok = p.Thread, true
			at = since(rec, p.Thread)
		}
		ok = ok || strings.HasPrefix(p.Type, "turn.")
		t.Event = r.said(p, at)
		return t
	})
	return told, ok
}

// An error may also be one that Codex retries; items with that name are warnings.
func (r reader) said(p execRecord, at time.Time) resume.Event {
	switch {
	case p.Type == "turn.started":
		return resume.Prompted{At: at}
	case p.Type == "turn.completed", p.Type == "item.completed" && p.Item.Type != "error":
		return resume.Progressed{At: at}
	case p.Type == "turn.failed":
		return r.refused(p.Error, at, rollout.RateLimits{})
	case p.Type == "error":
		return r.refused(rollout.Failure{Message: p.Message}, at, rollout.RateLimits{})
	default:
		return nil
	}
}

var retrying = lazy.Regexp(`(?i)^(?:reconnecting\.\.\.|stream error: .*retrying)`)

// limits is the state of the account's limits; zero: not known.
func (r reader) refused(f rollout.Failure, at time.Time, limits rollout.RateLimits) resume.Limited {
	reader := r.limits
	reader.At = at
	v := f.Verdict(reader, func() rollout.RateLimits { return limits })
	if retrying().MatchString(f.Message) {
		v = inProgress(v)
	}
	return recording.Refused(at, v, f.Message)
}

// inProgress returns the verdict for a refusal that Codex retries by itself. Codex does not say when.
func inProgress(v limit.Verdict) limit.Verdict {
	if !v.Class.Transient() || v.Class == limit.Unknown {
		v.Class = limit.ServerError // Codex retries, so it may be transient
	}
	v.WaitHelps, v.InProgress, v.Reset = true, true, limit.Reset{}
	return v
}

var (
	bannerField = lazy.Regexp(`^(workdir|session id): (\S.*)$`)
	complaint   = lazy.Regexp(`^(?:\[[^\]]*\] )?ERROR: (.+)$`)
)

// report reads the text of a run: a banner, then sections that begin with the name of the speaker.
func (r reader) report(text string, rec headless.Recording) (told recording.Told, begun bool) {
	var session, cwd string
	var last resume.Event
	at := rec.At
	told = recording.Lines(text, func(line string) (event resume.Event) {
		field, said := bannerField().FindStringSubmatch(line), complaint().FindStringSubmatch(line)
		switch {
		case field != nil && last == nil && field[1] == "workdir":
			cwd = field[2]
		case field != nil && last == nil && agent.IsUUID(field[2]):
			begun, session = true, field[2]
			at = since(rec, session)
		case !begun:
		case line == "user":
			event = resume.Prompted{At: at}
		case line == "codex", strings.HasSuffix(line, "] codex"):
			event = resume.Progressed{At: at}
		case said != nil:
			refused := r.refused(rollout.Failure{Message: said[1]}, at, rollout.RateLimits{})
			if before, ok := last.(resume.Limited); !ok || before.Text != refused.Text { // it is printed twice
				event = refused
			}
		}
		if event != nil {
			last = event
		}
		return event
	})
	told.Session, told.Cwd = session, cwd
	return told, begun
}

// since returns the reference time for clock times in a session's text. A copied file is newer than its content, but
// a session's id contains the time of its beginning, which is accurate enough within a day.
func since(rec headless.Recording, session string) time.Time {
	id, err := hex.DecodeString(strings.ReplaceAll(session, "-", ""))
	if rec.Exact || err != nil || len(id) != 16 || id[6]>>4 != 7 {
		return rec.At
	}
	began := time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...)))).UTC()
	if age := rec.At.Sub(began); age < 0 || age > 24*time.Hour {
		return rec.At
	}
	return began
}

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
	camelCase = lazy.Regexp(`"[a-z]+(?:[A-Z][a-z]+)+"`)
	hump      = lazy.Regexp(`[A-Z]`)
)

// snakeCase converts the names in a message, including values that are names, to those of rollouts.
func snakeCase(data []byte) []byte {
	return camelCase().ReplaceAllFunc(data, func(name []byte) []byte {
		if string(name) == `"windowDurationMins"` {
			return []byte(`"window_minutes"`)
		}
		return hump().ReplaceAllFunc(name, func(letter []byte) []byte { return append([]byte{'_'}, letter[0]|0x20) })
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

func (r reader) tried(m message, at time.Time) resume.Event {
	f := m.Params.Error.Failure
	if m.Params.Error.Details != "" {
		f.Message += " (" + m.Params.Error.Details + ")"
	}
	refused := r.refused(f, at, rollout.RateLimits{})
	refused.Verdict = inProgress(refused.Verdict)
	return refused
}

type call struct {
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Cwd        string `json:"cwd"`
	Hook       string `json:"hook_event_name"`
	Type       string `json:"type"`
	Thread     string `json:"thread-id"`
}

// hooked reads a log: one record per line, possibly after other text. Codex reports no failures to hooks.
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
