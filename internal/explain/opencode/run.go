// Package opencode interprets output of opencode outside of its database: of a run and of a server, and rows of a
// database that were saved as JSON.
package opencode

import (
	"bytes"
	"regexp"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/opencode"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Kilo is the other agent supported here: it is a fork of opencode and writes the same records.
const Kilo = room.KiloName

// New returns a Reader that interprets refusals with limits.
func New(limits limit.Reader) recording.Reader {
	return recording.Reader{
		Name: room.Name, Limits: limits, Any: recorded,
		// No other agent stores its sessions in a database.
		Begins: func(line []byte) (is, known bool) { return bytes.HasPrefix(line, []byte("SQLite format 3\x00")), true },
		Run: func(limits limit.Reader, rec agent.Recording) (recording.Told, bool) {
			return reader{limits}.printed(rec)
		},
	}
}

// reader interprets refusals.
type reader struct{ limits limit.Reader }

// recorded interprets a recording: the output of a run, rows saved as JSON, or events of a server.
func recorded(limits limit.Reader, rec agent.Recording) (recording.Report, bool) {
	r := reader{limits}
	if told, ok := r.printed(rec); ok {
		return recording.Of(recording.RunOutput, told), true
	}
	if told := r.saved(rec); told != nil {
		return recording.Report{Kind: "rows of a database", Told: told}, true
	}
	told := r.events(rec)
	return recording.Report{Kind: "the events of a server", Told: told}, told != nil
}

// printed interprets the streams of `opencode run`: records with --format json, else the text on its standard error.
func (r reader) printed(rec agent.Recording) (recording.Told, bool) {
	told, ok := recording.FirstStream(rec, func(text string) (recording.Told, bool) { return r.records(text, rec.At) })
	if ok {
		return told, true
	}
	return recording.FirstStream(rec, func(text string) (recording.Told, bool) { return r.words(text, rec.At) })
}

// sessionName is the format of a session's id.
var sessionName = regexp.MustCompile(`^ses_[0-9A-Za-z]+$`)

// runRecord is one record of `opencode run --format json`.
type runRecord struct {
	Type    string            `json:"type"`
	AtMS    float64           `json:"timestamp"`
	Session string            `json:"sessionID"`
	Error   *database.Failure `json:"error"`
}

func (r reader) records(text string, at time.Time) (recording.Told, bool) {
	told := recording.Follow(text, func(data []byte) (recording.Record, bool) {
		var p runRecord
		if !agent.Decode(data, &p) || !sessionName.MatchString(p.Session) {
			return recording.Record{}, false
		}
		if printedAt, ok := limit.Epoch(p.AtMS); ok {
			at = printedAt
		}
		event := r.event(p, at)
		return recording.Record{Session: p.Session, Event: event}, event != nil
	})
	return told, told.Event != nil
}

// event returns the event of a record, or nil.
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
