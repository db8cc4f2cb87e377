// Package opencode interprets output of opencode outside of its database: of a run, and rows of a database that were
// saved as JSON.
package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	room "resumed/internal/agent/opencode"
	"resumed/internal/agent/opencode/database"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lazy"
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

var readRun = recording.OfRun(records, words)

// read interprets a recording: the output of a run (records with --format json, else the text on its standard error),
// or rows saved as JSON.
func read(limits limit.Reader, rec headless.Recording, named bool) (recording.Report, bool) {
	if report, ok := readRun(limits, rec, named); ok {
		return report, true
	}
	told := readRows(limits, rec.Text)
	return recording.Report{Kind: "rows of a database", Told: told}, told != nil
}

var sessionName = lazy.Regexp(`^ses_[0-9A-Za-z]+$`)

// records reads the output of `opencode run --format json`.
func records(limits limit.Reader, text string) recording.Told {
	type record struct {
		Type    string            `json:"type"`
		AtMS    float64           `json:"timestamp"`
		Session string            `json:"sessionID"`
		Error   *database.Failure `json:"error"`
	}
	at := limits.At
	return recording.Follow(text, func(p record) (t recording.Told) {
		if !sessionName().MatchString(p.Session) {
			return t
		}
		if printedAt, ok := limit.Epoch(p.AtMS); ok {
			at = printedAt
		}
		switch p.Type {
		case "error":
			t.Event = failed(limits, p.Error, at)
		case "step_start":
			t.Event = resume.Prompted{At: at}
		case "text", "tool_use", "step_finish", "reasoning":
			t.Event = resume.Progressed{At: at}
		}
		if t.Event != nil {
			t.Session = p.Session
		}
		return t
	})
}

// failed returns the event of a failure that ended a turn; nil for none.
func failed(limits limit.Reader, f *database.Failure, at time.Time) resume.Event {
	if f == nil {
		return nil
	}
	return f.Event(limits, at)
}

var (
	heading   = lazy.Regexp(`^> \S+ · \S`)
	complaint = lazy.Regexp(`^Error: (\S.*)$`)
)

// words reads the output of a run for people, which does not contain the session.
func words(limits limit.Reader, text string) recording.Told {
	headed := false
	return recording.Lines(text, func(line string) resume.Event {
		headed = headed || heading().MatchString(line)
		m := complaint().FindStringSubmatch(line)
		if m == nil || !headed {
			return nil
		}
		f := &database.Failure{}
		f.Data.Message = m[1]
		return f.Event(limits, limits.At)
	})
}

// rows are those of one session.
type rows struct {
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
	ID        string `json:"id"`
	Message   string `json:"message_id"` // of a part
	CreatedMS int64  `json:"time_created"`
	UpdatedMS int64  `json:"time_updated"`
	Data      stored `json:"data"`
}

// stored is JSON, mostly in a string.
type stored []byte

// UnmarshalJSON takes the JSON out of its string.
func (s *stored) UnmarshalJSON(data []byte) error {
	var text string
	if *s = bytes.Clone(data); json.Unmarshal(data, &text) == nil {
		*s = []byte(text)
	}
	return nil
}

// readRows returns the state of sessions when their rows were saved: as for a database, but without processes.
func readRows(limits limit.Reader, text string) (all []recording.Told) {
	for _, data := range headless.Records(text) {
		var r rows
		if !lines.Decode(data, &r) || !sessionName().MatchString(r.Session.ID) || r.Session.Directory == "" || r.Messages == nil {
			continue
		}
		told := recording.Told{
			Session: r.Session.ID, Cwd: r.Session.Directory, Leave: database.WhyLeft(r.Session.Parent, r.Session.Archived > 0),
			Event: resume.Progressed{At: time.UnixMilli(r.Session.CreatedMS).UTC()},
		}
		if m, at := r.last(text); m.Meaning != database.Nothing {
			told.Line = at
			if told.Event = m.Event(limits); m.Meaning == database.Pending {
				told.Event = resume.Cancelled{At: m.At()}
				told.Leave = cmp.Or(told.Leave, "its last turn was not over when this was written")
			}
		}
		all = append(all, told)
	}
	return all
}

// last returns the last message that tells the state of the session, and its line in the text.
func (r rows) last(text string) (last database.Message, line int) {
	slices.SortFunc(r.Messages, func(x, y row) int {
		return cmp.Or(cmp.Compare(y.CreatedMS, x.CreatedMS), cmp.Compare(y.ID, x.ID))
	})
	for _, m := range r.Messages {
		said := database.ReadMessage(m.Data, m.CreatedMS, m.UpdatedMS)
		if said.Meaning == database.Nothing || said.Meaning == database.Broken && r.compacted(said.AtMS) {
			continue
		}
		if at := strings.LastIndex(text, `"`+m.ID+`"`); m.ID != "" && at >= 0 {
			line = recording.LineOf(text, at)
		}
		return said, line
	}
	return last, 0
}

// compacted reports whether opencode compacted the session automatically right after that time.
func (r rows) compacted(atMS int64) bool {
	return slices.ContainsFunc(r.Parts, func(part row) bool {
		at := slices.IndexFunc(r.Messages, func(m row) bool {
			return m.ID == part.Message && m.CreatedMS >= atMS-database.CompactionBefore && m.CreatedMS <= atMS+database.CompactionAfter
		})
		return at >= 0 && database.Compacts(part.Data)
	})
}
