// Package opencode reads what opencode says elsewhere than in its database: on
// the streams of a run, as a server or to plugins, in its log, on a screen; and
// sessions that were exported.
package opencode

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/opencode"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name and Kilo are whose files are read here: Kilo was made of opencode and writes
// as that does.
const (
	Name = room.Name
	Kilo = room.KiloName
)

// Reader reads what was recorded of opencode.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// Recognises reports whether a file that begins with head is a database: no
// other agent keeps its sessions in one.
func (Reader) Recognises(head []byte) bool {
	return bytes.HasPrefix(head, []byte("SQLite format 3\x00"))
}

// sessionName is what a session of opencode is called.
var sessionName = regexp.MustCompile(`^ses_[0-9A-Za-z]+$`)

// printed is one record of `opencode run --format json`.
type printed struct {
	Type    string        `json:"type"`
	AtMS    float64       `json:"timestamp"`
	Session string        `json:"sessionID"`
	Error   *room.Failure `json:"error"`
}

// Printed says what the streams of `opencode run` tell: records with --format
// json, else the words on its standard error.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	for _, read := range []func(string, time.Time) (recording.Told, bool){r.records, r.words} {
		if told, ok := read(rec.Text, rec.At); ok {
			return told, true
		}
		if told, ok := read(rec.Beside, rec.At); ok {
			told.Beside = true
			return told, true
		}
	}
	return recording.Told{}, false
}

func (r Reader) records(text string, at time.Time) (told recording.Told, ok bool) {
	for line, data := range agent.Records(text) {
		var p printed
		if !agent.Decode(data, &p) || !sessionName.MatchString(p.Session) {
			continue
		}
		if ms := recording.Millis(p.AtMS); ms != 0 {
			at = time.UnixMilli(ms).UTC()
		}
		var event resume.Event
		switch p.Type {
		case "error":
			event = r.failed(p.Error, at)
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

// failed is what a failure means that ended a turn, or nil where there is none.
func (r Reader) failed(f *room.Failure, at time.Time) resume.Event {
	if f == nil {
		return nil
	}
	return f.Event(r.limits, at)
}

var (
	heading   = regexp.MustCompile(`^> \S+ · \S`)
	complaint = regexp.MustCompile(`^Error: (\S.*)$`)
)

// words reads what a run says to people: which agent and model it is, and why
// it failed. It says nothing of a session.
func (r Reader) words(text string, at time.Time) (told recording.Told, ok bool) {
	n, headed := 0, false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n ")
		headed = headed || heading.MatchString(line)
		if m := complaint.FindStringSubmatch(line); m != nil && headed {
			f := &room.Failure{}
			f.Data.Message = m[1]
			told.Event, told.Line, ok = r.failed(f, at), n, true
		}
	}
	return told, ok
}

// Recorded says what a recording tells: the output of a run, the events of a
// server or a plugin, a session that was exported, opencode's log, or a screen.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	if told, ok := r.Printed(rec); ok {
		return recording.Report{Kind: recording.RunOutput, Told: []recording.Told{told}}, true
	}
	for _, way := range []struct {
		kind string
		read func(agent.Recording) []recording.Told
	}{
		{"a session that was exported", r.exported},
		{"the events of a server or a plugin", r.overheard},
		{"the states of a server's sessions", r.states},
		{"opencode's log", r.logged},
		{recording.Screen, r.shown},
	} {
		if told := way.read(rec); len(told) > 0 {
			return recording.Report{Kind: way.kind, Told: told}, true
		}
	}
	return recording.Report{}, false
}

// The states of a session, as opencode says them.
const (
	retrying = "retry" // it waits and will try again by itself
	working  = "busy"
	over     = "idle"
)

// waits is what opencode tries again by itself.
func (r Reader) waits(s room.Status, at time.Time) resume.Limited {
	return resume.Limited{At: at, Verdict: s.Verdict(r.limits, at), Text: agent.Clip(s.Message)}
}

// states reads what a server answers to GET /session/status.
func (r Reader) states(rec agent.Recording) []recording.Told {
	var all []recording.Told
	for line, data := range agent.Records(rec.Text) {
		var listed map[string]room.Status
		if json.Unmarshal(data, &listed) != nil {
			continue
		}
		for _, session := range slices.Sorted(maps.Keys(listed)) {
			s := listed[session]
			if !sessionName.MatchString(session) || !slices.Contains([]string{retrying, working, over}, s.Type) {
				return nil
			}
			all = append(all, r.stateOf(session, s, rec.At, line))
		}
	}
	return all
}

func (r Reader) stateOf(session string, s room.Status, at time.Time, line int) recording.Told {
	told := recording.Told{Session: session, Line: line}
	switch s.Type {
	case retrying:
		told.Event = r.waits(s, at)
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
func (r Reader) shown(rec agent.Recording) []recording.Told {
	all := shownRetry.FindAllStringSubmatchIndex(rec.Text, -1)
	if all == nil {
		return nil
	}
	last := all[len(all)-1]
	s := room.Status{Type: retrying, Message: rec.Text[last[2]:last[3]]}
	limits := r.limits
	limits.At = rec.At
	if last[4] >= 0 {
		if reset, ok := limits.When(rec.Text[last[4]:last[5]]); ok {
			s.Next = reset.At.UnixMilli()
		}
	}
	return []recording.Told{r.stateOf("", s, rec.At, strings.Count(rec.Text[:last[2]], "\n")+1)}
}

var logField = regexp.MustCompile(`(?:^| )([a-z.]+)=("(?:[^"\\]|\\.)*"|\S*)`)

// logged reads opencode's log. It names no time at which something is tried
// again, and not what became of it where that went well.
func (r Reader) logged(rec agent.Recording) []recording.Told {
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
		if event := r.entry(fields, at); event != nil {
			all.of(session).Event = event
			all.of(session).Line = n
		}
	}
	return all.told()
}

func (r Reader) entry(fields map[string]string, at time.Time) resume.Event {
	f := &room.Failure{}
	switch fields["message"] {
	case "stream":
		return resume.Prompted{At: at}
	case "cancel":
		return resume.Cancelled{At: at}
	case "process":
		f.Data.Message = fields["error"]
		return r.failed(f, at)
	case "stream error":
		f.Data.Message = strings.TrimPrefix(fields["error.error"], "AI_APICallError: ")
		event, _ := r.failed(f, at).(resume.Limited)
		event.InProgress, event.Reset = event.Class.Transient(), limit.Reset{}
		return event
	default:
		return nil
	}
}
