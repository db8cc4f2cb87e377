package opencode

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// sessionName is what a session of opencode is called.
var sessionName = regexp.MustCompile(`^ses_[0-9A-Za-z]+$`)

// printed is one record of `opencode run --format json`.
type printed struct {
	Type    string   `json:"type"`
	AtMS    float64  `json:"timestamp"`
	Session string   `json:"sessionID"`
	Error   *failure `json:"error"`
}

// Printed says what the streams of `opencode run` tell: records with --format
// json, else the words on its standard error.
func (a *Agent) Printed(rec agent.Recording) (agent.Told, bool) {
	for _, read := range []func(string, time.Time) (agent.Told, bool){a.records, a.words} {
		if told, ok := read(rec.Text, rec.At); ok {
			return told, true
		}
		if told, ok := read(rec.Beside, rec.At); ok {
			told.Beside = true
			return told, true
		}
	}
	return agent.Told{}, false
}

func (a *Agent) records(text string, at time.Time) (told agent.Told, ok bool) {
	for line, data := range agent.Records(text) {
		var p printed
		if !decode(data, &p) || !sessionName.MatchString(p.Session) {
			continue
		}
		if ms := millis(p.AtMS); ms != 0 {
			at = time.UnixMilli(ms).UTC()
		}
		var event resume.Event
		switch p.Type {
		case "error":
			event = a.failed(p.Error, at)
		case "step_start":
			event = resume.Prompted{At: at}
		case "text", "tool_use", "step_finish", "reasoning":
			event = resume.Progressed{At: at}
		}
		if event != nil {
			told.Session, told.Event, told.Line, ok = p.Session, event, line, true
		}
	}
	return told, ok
}

// failed is what a failure means that ended a turn.
func (a *Agent) failed(f *failure, at time.Time) resume.Event {
	switch {
	case f == nil:
		return nil
	case f.Name == "MessageAbortedError":
		return resume.Cancelled{At: at}
	default:
		return resume.Limited{At: at, Verdict: f.verdict(a.reader, at), Text: agent.Clip(f.words())}
	}
}

var (
	heading   = regexp.MustCompile(`^> \S+ · \S`)
	complaint = regexp.MustCompile(`^Error: (\S.*)$`)
)

// words reads what a run says to people: which agent and model it is, and why
// it failed. It says nothing of a session.
func (a *Agent) words(text string, at time.Time) (told agent.Told, ok bool) {
	n, headed := 0, false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n ")
		headed = headed || heading.MatchString(line)
		if m := complaint.FindStringSubmatch(line); m != nil && headed {
			f := &failure{}
			f.Data.Message = m[1]
			told.Event, told.Line, ok = a.failed(f, at), n, true
		}
	}
	return told, ok
}

// Recorded says what a recording tells: the output of a run, the events of a
// server or a plugin, a session that was exported, opencode's log, or a screen.
func (a *Agent) Recorded(rec agent.Recording) (agent.Report, bool) {
	if told, ok := a.Printed(rec); ok {
		return agent.Report{Kind: agent.RunOutput, Told: []agent.Told{told}}, true
	}
	for _, r := range []struct {
		kind string
		read func(agent.Recording) []agent.Told
	}{
		{"a session that was exported", a.exported},
		{"the events of a server or a plugin", a.overheard},
		{"the states of a server's sessions", a.states},
		{"opencode's log", a.logged},
		{agent.Screen, a.shown},
	} {
		if told := r.read(rec); len(told) > 0 {
			return agent.Report{Kind: r.kind, Told: told}, true
		}
	}
	return agent.Report{}, false
}

// states reads what a server answers to GET /session/status.
func (a *Agent) states(rec agent.Recording) []agent.Told {
	var all []agent.Told
	for line, data := range agent.Records(rec.Text) {
		var listed map[string]status
		if json.Unmarshal(data, &listed) != nil {
			continue
		}
		for _, session := range slices.Sorted(maps.Keys(listed)) {
			s := listed[session]
			if !sessionName.MatchString(session) || s.kind() == 0 {
				return nil
			}
			all = append(all, a.stateOf(session, s, rec.At, line))
		}
	}
	return all
}

func (a *Agent) stateOf(session string, s status, at time.Time, line int) agent.Told {
	told := agent.Told{Session: session, Line: line}
	switch s.kind() {
	case retrying:
		told.Event = resume.Limited{At: at, Verdict: s.verdict(a.reader, at), Text: agent.Clip(s.Message)}
	case working:
		told.Event, told.Working = resume.Progressed{At: at}, true
	default:
		told.Event = resume.Progressed{At: at}
	}
	return told
}

// shownRetry stands at the bottom of a screen as long as opencode waits.
var shownRetry = regexp.MustCompile(`(?m)^[\s┃│]*(\S[^\n]*?) \[retrying (?:in ([0-9a-z ]+?) )?attempt #\d+\]`)

// shown reads a screen that was captured. It tells only that opencode waits, and
// for how long, as of when the screen was read.
func (a *Agent) shown(rec agent.Recording) []agent.Told {
	all := shownRetry.FindAllStringSubmatchIndex(rec.Text, -1)
	if all == nil {
		return nil
	}
	last := all[len(all)-1]
	s := status{Type: "retry", Message: rec.Text[last[2]:last[3]]}
	reader := a.reader
	reader.At = rec.At
	if last[4] >= 0 {
		if reset, ok := reader.When(rec.Text[last[4]:last[5]]); ok {
			s.Next = reset.At.UnixMilli()
		}
	}
	return []agent.Told{a.stateOf("", s, rec.At, strings.Count(rec.Text[:last[2]], "\n")+1)}
}

var logField = regexp.MustCompile(`(?:^| )([a-z.]+)=("(?:[^"\\]|\\.)*"|\S*)`)

// logged reads opencode's log. It names no time at which something is tried
// again, and not what became of it where that went well.
func (a *Agent) logged(rec agent.Recording) []agent.Told {
	var all tellings
	n := 0
	for line := range strings.Lines(rec.Text) {
		n++
		if !strings.HasPrefix(line, "timestamp=") {
			continue
		}
		fields := make(map[string]string)
		for _, m := range logField.FindAllStringSubmatch(line, -1) {
			value := m[2]
			_ = json.Unmarshal([]byte(m[2]), &value) // most are bare
			fields[m[1]] = value
		}
		at, err := time.Parse(time.RFC3339, fields["timestamp"])
		session := fields["session.id"]
		if err != nil || !sessionName.MatchString(session) || fields["small"] == "true" {
			continue
		}
		if event := a.entry(fields, at); event != nil {
			all.of(session).Event = event
			all.of(session).Line = n
		}
	}
	return all.told()
}

func (a *Agent) entry(fields map[string]string, at time.Time) resume.Event {
	f := &failure{}
	switch fields["message"] {
	case "stream":
		return resume.Prompted{At: at}
	case "cancel":
		return resume.Cancelled{At: at}
	case "process":
		f.Data.Message = fields["error"]
		return a.failed(f, at)
	case "stream error":
		f.Data.Message = strings.TrimPrefix(fields["error.error"], "AI_APICallError: ")
		event, _ := a.failed(f, at).(resume.Limited)
		event.InProgress, event.Reset = event.Class.Transient(), limit.Reset{}
		return event
	default:
		return nil
	}
}
