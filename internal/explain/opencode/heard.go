package opencode

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/opencode"
	"resumed/internal/explain/recording"
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
	Status     room.Status     `json:"status"`
	Error      json.RawMessage `json:"error"`
}

type happenedTo struct {
	Session string          `json:"sessionID"`
	Status  room.Status     `json:"status"`
	Error   *room.Failure   `json:"error"`
	Info    json.RawMessage `json:"info"` // of a session or a message
}

// overheard reads a stream of events: lines of a server's, or records.
func (r Reader) overheard(rec agent.Recording) []recording.Told {
	var all tellings
	lastMS := rec.At.UnixMilli()
	n := 0
	for line := range strings.Lines(rec.Text) {
		n++
		data, _ := strings.CutPrefix(strings.TrimSpace(line), "data:")
		var h happening
		if data = strings.TrimSpace(data); !strings.HasPrefix(data, "{") || !agent.Decode([]byte(data), &h) {
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
		if t := cmp.Or(recording.Millis(h.AtMS), h.time()); t != 0 {
			lastMS = t
		}
		one := all.of(session)
		one.Cwd = cmp.Or(h.Directory, one.Cwd)
		if event := r.happened(one, h, time.UnixMilli(lastMS).UTC()); event != nil {
			one.Event, one.Line = event, n
		}
	}
	return all.told()
}

// time returns the time that an event tells of a message, or 0: events have
// none of their own.
func (h happening) time() int64 {
	var info struct {
		Time struct {
			Created   float64 `json:"created"`
			Completed float64 `json:"completed"`
		} `json:"time"`
	}
	if len(h.Properties.Info) == 0 || !agent.Decode(h.Properties.Info, &info) {
		return 0
	}
	return cmp.Or(recording.Millis(info.Time.Completed), recording.Millis(info.Time.Created))
}

// happened returns what an event tells of a session, or nil where that is
// nothing new.
func (r Reader) happened(one *telling, h happening, at time.Time) resume.Event {
	switch h.Type {
	case "session.created", "session.updated":
		var s savedSession
		agent.Decode(h.Properties.Info, &s)
		one.Cwd = cmp.Or(s.Directory, one.Cwd)
		one.Leave = s.left()
		return nil
	case "session.status":
		return r.status(one, h.Properties.Status, at)
	case "session.idle":
		return one.idle(at)
	case "session.error":
		return r.erred(one, h, at)
	case "message.updated":
		return r.updated(one, h.Properties.Info)
	default:
		return nil
	}
}

func (r Reader) status(one *telling, s room.Status, at time.Time) resume.Event {
	one.Working = s.Type == working
	switch s.Type {
	case retrying:
		one.waited = r.waits(s, at)
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
			one.Leave = cmp.Or(one.Leave, "somebody ended its wait for the next try")
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
func (r Reader) erred(one *telling, h happening, at time.Time) resume.Event {
	one.Working = false
	f := h.Properties.Error
	if f == nil {
		var name string
		if json.Unmarshal(h.Error, &name) != nil {
			return nil
		}
		f = &room.Failure{Name: name}
	}
	event := r.failed(f, at)
	limited, ok := event.(resume.Limited)
	if !ok {
		return event
	}
	return one.lastTry(limited, f)
}

// lastTry adds what was told of the tries before it to a failure.
func (one *telling) lastTry(failed resume.Limited, f *room.Failure) resume.Event {
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
func (r Reader) updated(one *telling, info json.RawMessage) resume.Event {
	s := room.Read(info, 0, 0)
	if s.Broken() {
		return nil // what comes next tells
	}
	event := s.Event(r.limits)
	if limited, ok := event.(resume.Limited); ok {
		return one.lastTry(limited, s.Failure())
	}
	return event
}

// tellings is what is told of sessions, in the order in which they appear.
type tellings struct {
	order     []string
	bySession map[string]*telling
}

// telling is what is told of one session, and what the next event has to know.
type telling struct {
	recording.Told
	waited resume.Limited // for the last time that it tried again
}

func (t *tellings) of(session string) *telling {
	if t.bySession == nil {
		t.bySession = make(map[string]*telling)
	}
	one, ok := t.bySession[session]
	if !ok {
		one = &telling{Told: recording.Told{Session: session}}
		t.bySession[session] = one
		t.order = append(t.order, session)
	}
	return one
}

func (t *tellings) told() []recording.Told {
	var all []recording.Told
	for _, session := range t.order {
		all = append(all, t.bySession[session].Told)
	}
	return all
}
