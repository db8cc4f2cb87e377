package opencode

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// happening is one event as a server sends it, for all directories or for one,
// as a plugin gets it, or as our own plugin writes it.
type happening struct {
	Directory  string          `json:"directory"`
	Payload    *happening      `json:"payload"`
	Type       string          `json:"type"`
	Properties happenedTo      `json:"properties"`
	AtMS       float64         `json:"at"`
	Session    string          `json:"session"`
	Status     status          `json:"status"`
	Error      json.RawMessage `json:"error"`
}

type happenedTo struct {
	Session string          `json:"sessionID"`
	Status  status          `json:"status"`
	Error   *failure        `json:"error"`
	Info    json.RawMessage `json:"info"` // of a session or a message
}

// overheard reads a stream of events: lines of a server's, or records.
func (a *Agent) overheard(rec agent.Recording) []agent.Told {
	var all tellings
	lastMS := rec.At.UnixMilli()
	n := 0
	for line := range strings.Lines(rec.Text) {
		n++
		data, _ := strings.CutPrefix(strings.TrimSpace(line), "data:")
		var h happening
		if data = strings.TrimSpace(data); !strings.HasPrefix(data, "{") || !decode([]byte(data), &h) {
			continue
		}
		if h.Payload != nil {
			h.Payload.Directory = h.Directory
			h = *h.Payload
		}
		session := cmp.Or(h.Properties.Session, h.Session)
		if !sessionName.MatchString(session) || h.Type == "" {
			continue
		}
		if h.Session != "" {
			h.Properties.Status = h.Status
		}
		if t := cmp.Or(millis(h.AtMS), h.time()); t != 0 {
			lastMS = t
		}
		one := all.of(session)
		one.Cwd = cmp.Or(h.Directory, one.Cwd)
		if event := a.happened(one, h, time.UnixMilli(lastMS).UTC()); event != nil {
			one.Event, one.Line = event, n
		}
	}
	return all.told()
}

// time returns the time that an event tells of a message, or 0: events have
// none of their own.
func (h happening) time() int64 {
	var info record
	if len(h.Properties.Info) == 0 || !decode(h.Properties.Info, &info) {
		return 0
	}
	return cmp.Or(millis(info.Time.Completed), millis(info.Time.Created))
}

// happened returns what an event tells of a session, or nil where that is
// nothing new.
func (a *Agent) happened(one *telling, h happening, at time.Time) resume.Event {
	switch h.Type {
	case "session.created", "session.updated":
		var s savedSession
		decode(h.Properties.Info, &s)
		one.Cwd = cmp.Or(s.Directory, one.Cwd)
		one.Leave = s.conversation().left()
		return nil
	case "session.status":
		return a.status(one, h.Properties.Status, at)
	case "session.idle":
		return one.idle(at)
	case "session.error":
		return a.erred(one, h, at)
	case "message.updated":
		return a.updated(one, h.Properties.Info, at)
	default:
		return nil
	}
}

func (a *Agent) status(one *telling, s status, at time.Time) resume.Event {
	one.Working = s.kind() == working
	switch s.kind() {
	case retrying:
		one.waited = resume.Limited{At: at, Verdict: s.verdict(a.reader, at), Text: agent.Clip(s.Message)}
		return one.waited
	case working:
		return resume.Prompted{At: at}
	case over:
		return one.idle(at)
	default:
		return nil
	}
}

// idle is the end of a turn: what came before tells how it ended. Where that
// was a wait, somebody put an end to it: opencode tells of no failure.
func (one *telling) idle(at time.Time) resume.Event {
	one.Working = false
	switch last := one.Event.(type) {
	case resume.Limited:
		if last.InProgress {
			last.InProgress = false
			one.Leave = cmp.Or(one.Leave, "its wait to try again was ended by somebody")
			return last
		}
		return nil
	case resume.Cancelled:
		return nil
	default:
		return resume.Progressed{At: at}
	}
}

// erred is a failure. Our own plugin writes its name only: then it is what was
// tried again in vain.
func (a *Agent) erred(one *telling, h happening, at time.Time) resume.Event {
	one.Working = false
	f := h.Properties.Error
	if f == nil {
		var name string
		if json.Unmarshal(h.Error, &name) != nil {
			return nil
		}
		f = &failure{Name: name}
	}
	event := a.failed(f, at)
	limited, ok := event.(resume.Limited)
	if !ok {
		return event
	}
	return one.lastTry(limited, f)
}

// lastTry adds what was told of the tries before it to a failure.
func (one *telling) lastTry(failed resume.Limited, f *failure) resume.Event {
	if f.Data.Message == "" && one.waited.Class != limit.None {
		failed.Verdict, failed.Text = one.waited.Verdict, one.waited.Text
		failed.InProgress = false
	}
	if !failed.Reset.Stated() && failed.Class == one.waited.Class {
		failed.Reset = one.waited.Reset
	}
	return failed
}

// updated is a message that has changed.
func (a *Agent) updated(one *telling, info json.RawMessage, at time.Time) resume.Event {
	s := message{data: info}.read()
	switch s.meaning {
	case failed:
		if limited, ok := s.event(a.reader).(resume.Limited); ok {
			return one.lastTry(limited, s.record.Error)
		}
		return nil
	case prompted, moved, cancelled:
		return s.event(a.reader)
	default:
		return nil // it is not over, or what comes next tells
	}
}
