// Package opencode interprets output of opencode outside of its database: of a run and of a server, and rows of a
// database that were saved as JSON.
package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	room "resumed/internal/agent/opencode"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Kilo is the other agent supported here: it is a fork of opencode and writes the same records.
const Kilo = room.KiloName

// Reader interprets output of opencode.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: read}

// begins recognises a database: no other agent stores its sessions in one.
func begins(line []byte) (is, known bool) {
	return bytes.HasPrefix(line, []byte("SQLite format 3\x00")), true
}

type reader struct{ limits limit.Reader }

// read interprets a recording: the output of a run (records with --format json, else the text on its standard error),
// rows saved as JSON, or events of a server.
func read(limits limit.Reader, rec headless.Recording, _ bool) (recording.Report, bool) {
	r := reader{limits}
	told, ok := recording.FirstStream(rec,
		func(text string) (recording.Told, bool) { return r.records(text, rec.At) },
		func(text string) (recording.Told, bool) { return r.words(text, rec.At) })
	if ok {
		return recording.Of(recording.RunOutput, told), true
	}
	if told := r.saved(rec); told != nil {
		return recording.Report{Kind: "rows of a database", Told: told}, true
	}
	events := r.events(rec)
	return recording.Report{Kind: "the events of a server", Told: events}, events != nil
}

var sessionName = regexp.MustCompile(`^ses_[0-9A-Za-z]+$`)

type runRecord struct {
	Type    string            `json:"type"`
	AtMS    float64           `json:"timestamp"`
	Session string            `json:"sessionID"`
	Error   *database.Failure `json:"error"`
}

func (r reader) records(text string, at time.Time) (recording.Told, bool) {
	told := recording.Follow(text, func(p runRecord) recording.Told {
		if !sessionName.MatchString(p.Session) {
			return recording.Told{}
		}
		if printedAt, ok := limit.Epoch(p.AtMS); ok {
			at = printedAt
		}
		event := r.event(p, at)
		if event == nil {
			return recording.Told{}
		}
		return recording.Told{Session: p.Session, Event: event}
	})
	return told, told.Event != nil
}

func (r reader) event(p runRecord, at time.Time) resume.Event {
	switch p.Type {
	case "error":
		return r.failed(p.Error, at)
	case "step_start":
		return resume.Prompted{At: at}
	case "text", "tool_use", "step_finish", "reasoning":
		return resume.Progressed{At: at}
	default:
		return nil
	}
}

// failed returns the event of a failure that ended a turn; nil for none.
func (r reader) failed(f *database.Failure, at time.Time) resume.Event {
	if f == nil {
		return nil
	}
	return f.Event(r.limits, at)
}

var (
	heading   = regexp.MustCompile(`^> \S+ · \S`)
	complaint = regexp.MustCompile(`^Error: (\S.*)$`)
)

// words reads the output of a run for people: the agent and the model, and why the run failed. It does not contain the
// session.
func (r reader) words(text string, at time.Time) (recording.Told, bool) {
	headed := false
	told := recording.Lines(text, func(line string) resume.Event {
		headed = headed || heading.MatchString(line)
		m := complaint.FindStringSubmatch(line)
		if m == nil || !headed {
			return nil
		}
		f := &database.Failure{}
		f.Data.Message = m[1]
		return r.failed(f, at)
	})
	return told, told.Event != nil
}

type saved struct {
	Session struct {
		ID        string  `json:"id"`
		Parent    string  `json:"parent_id"`
		Directory string  `json:"directory"`
		Archived  float64 `json:"time_archived"`
		CreatedMS int64   `json:"time_created"`
	} `json:"session"`
	Messages []row `json:"message"`
	Parts    []row `json:"part"`
}

type row struct {
	ID        string          `json:"id"`
	Message   string          `json:"message_id"` // of a part
	CreatedMS int64           `json:"time_created"`
	UpdatedMS int64           `json:"time_updated"`
	Data      json.RawMessage `json:"data"` // a string of JSON
}

func (r row) record() []byte {
	var text string
	if json.Unmarshal(r.Data, &text) == nil {
		return []byte(text)
	}
	return r.Data
}

func (r reader) saved(rec headless.Recording) []recording.Told {
	var all []recording.Told
	for _, data := range headless.Records(rec.Text) {
		var s saved
		if lines.Decode(data, &s) && sessionName.MatchString(s.Session.ID) && s.Session.Directory != "" && s.Messages != nil {
			all = append(all, r.judge(s, rec.Text))
		}
	}
	return all
}

// judge returns the state of a session when its rows were saved: as for a database, but without processes.
func (r reader) judge(s saved, text string) recording.Told {
	told := recording.Told{
		Session: s.Session.ID, Cwd: s.Session.Directory, Leave: database.WhyLeft(s.Session.Parent, s.Session.Archived > 0),
		Event: resume.Progressed{At: time.UnixMilli(s.Session.CreatedMS).UTC()},
	}
	slices.SortFunc(s.Messages, func(x, y row) int {
		return cmp.Or(cmp.Compare(y.CreatedMS, x.CreatedMS), cmp.Compare(y.ID, x.ID))
	})
	for _, m := range s.Messages {
		said := database.ReadMessage(m.record(), m.CreatedMS, m.UpdatedMS)
		if said.Meaning == database.Nothing {
			continue
		}
		if at := strings.LastIndex(text, `"`+m.ID+`"`); told.Line == 0 && m.ID != "" && at >= 0 {
			told.Line = recording.LineOf(text, at)
		}
		if said.Meaning == database.Broken && s.compacted(said.AtMS) {
			continue
		}
		told.Event = said.Event(r.limits)
		if said.Meaning == database.Pending {
			told.Event = resume.Cancelled{At: said.At()}
			told.Leave = cmp.Or(told.Leave, "its last turn was not over when this was written")
		}
		break
	}
	return told
}

// compacted reports whether opencode compacted the session automatically right after that time.
func (s saved) compacted(atMS int64) bool {
	return slices.ContainsFunc(s.Parts, func(part row) bool {
		at := slices.IndexFunc(s.Messages, func(m row) bool {
			return m.ID == part.Message && m.CreatedMS >= atMS-database.CompactionBefore && m.CreatedMS <= atMS+database.CompactionAfter
		})
		return at >= 0 && database.Compacts(part.record())
	})
}
