package opencode

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"resumed/internal/agent/opencode/database"
	"resumed/internal/agent/opencode/server"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// event is one event from a server, for one directory or for all, or from a plugin.
type event struct {
	Directory  string `json:"directory"`
	Payload    *event `json:"payload"` // of an event for all directories
	Type       string `json:"type"`
	Properties struct {
		Session string            `json:"sessionID"`
		Status  server.Status     `json:"status"`
		Error   *database.Failure `json:"error"`
		Info    json.RawMessage   `json:"info"` // of a session or a message
	} `json:"properties"`
}

type info struct {
	Directory string `json:"directory"`
	Parent    string `json:"parentID"`
	Time      struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
		Archived  float64 `json:"archived"`
	} `json:"time"`
}

func parseEvent(line string) (event, bool) {
	data := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
	var e event
	if !strings.HasPrefix(data, "{") || !lines.Decode([]byte(data), &e) {
		return e, false
	}
	if e.Payload != nil {
		e.Payload.Directory = e.Directory
		e = *e.Payload
	}
	return e, sessionName.MatchString(e.Properties.Session) && e.Type != ""
}

// turn is the state of one session, with what its next event needs.
type turn struct {
	recording.Told
	waited resume.Limited // the last retry of opencode
}

// events reads a stream of events. Only messages have a time.
func (r reader) events(rec headless.Recording) []recording.Told {
	turns := make(map[string]*turn)
	var all []recording.Told
	at := rec.At.UTC()
	n := 0
	for line := range strings.Lines(rec.Text) {
		n++
		e, ok := parseEvent(line)
		if !ok {
			continue
		}
		t := turns[e.Properties.Session]
		if t == nil {
			t = &turn{Told: recording.Told{Session: e.Properties.Session}}
			turns[t.Session] = t
		}
		var i info
		lines.Decode(e.Properties.Info, &i)
		if told, ok := limit.Epoch(cmp.Or(i.Time.Completed, i.Time.Created)); ok {
			at = told
		}
		t.Cwd = cmp.Or(i.Directory, e.Directory, t.Cwd)
		if event := r.happened(t, e, i, at); event != nil {
			t.Event, t.Line = event, n
		}
		all = recording.Update(all, t.Told)
	}
	return all
}

func (r reader) happened(t *turn, e event, i info, at time.Time) resume.Event {
	switch e.Type {
	case "session.created", "session.updated":
		t.Leave = database.WhyLeft(i.Parent, i.Time.Archived > 0)
		return nil
	case "session.status":
		return r.status(t, e.Properties.Status, at)
	case "session.idle":
		return t.idle(at)
	case "session.error":
		t.Working = false
		return t.lastTry(r.failed(e.Properties.Error, at))
	case "message.updated":
		said := database.ReadMessage(e.Properties.Info, 0, 0)
		if said.Meaning == database.Broken {
			return nil // the next event tells
		}
		return t.lastTry(said.Event(r.limits))
	default:
		return nil
	}
}

func (r reader) status(t *turn, s server.Status, at time.Time) resume.Event {
	t.Working = s.Type == "busy"
	switch s.Type {
	case "retry":
		t.waited = recording.Refused(at, s.Verdict(r.limits, at), s.Message)
		return t.waited
	case "busy":
		return resume.Prompted{At: at}
	case "idle":
		return t.idle(at)
	default:
		return nil
	}
}

// idle returns the event for the end of a turn, depending on the event before it. If that was a wait for a retry, a
// person ended it: opencode reports no failure then.
func (t *turn) idle(at time.Time) resume.Event {
	t.Working = false
	switch last := t.Event.(type) {
	case resume.Limited:
		if !last.InProgress {
			return nil
		}
		last.InProgress = false
		t.Leave = cmp.Or(t.Leave, "somebody ended its wait for the next try")
		return last
	case resume.Cancelled:
		return nil
	default:
		return resume.Progressed{At: at}
	}
}

// lastTry adds the time of the last retry to a failure without a reset.
func (t *turn) lastTry(event resume.Event) resume.Event {
	failed, ok := event.(resume.Limited)
	if ok && !failed.Reset.Stated() && failed.Class == t.waited.Class {
		failed.Reset = t.waited.Reset
		return failed
	}
	return event
}
