package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	room "resumed/internal/agent/opencode"
	"resumed/internal/explain/recording"
	"resumed/internal/resume"
)

// export is a session as `opencode export` writes it, or as the rows of the
// database that belong to it.
type export struct {
	Info    savedSession   `json:"info"`
	Session savedSession   `json:"session"`
	Said    []savedMessage `json:"messages"`
	Rows    []savedMessage `json:"message"`
	Parts   []savedPart    `json:"part"`
}

type savedSession struct {
	ID        string  `json:"id"`
	Parent    string  `json:"parentID"`
	ParentRow string  `json:"parent_id"`
	Directory string  `json:"directory"`
	Archived  float64 `json:"time_archived"`
	Created   float64 `json:"time_created"`
	Time      struct {
		Created  float64 `json:"created"`
		Archived float64 `json:"archived"`
	} `json:"time"`
}

// left returns why nothing is done about the session whatever happens to it, or
// nothing.
func (s savedSession) left() string {
	return room.WhyLeft(cmp.Or(s.Parent, s.ParentRow), s.Archived > 0 || s.Time.Archived > 0)
}

func (s savedSession) createdMS() int64 {
	return cmp.Or(recording.Millis(s.Created), recording.Millis(s.Time.Created))
}

type savedMessage struct {
	ID      string            `json:"id"`
	Created float64           `json:"time_created"`
	Updated float64           `json:"time_updated"`
	Data    json.RawMessage   `json:"data"` // of a row: text that is JSON
	Info    json.RawMessage   `json:"info"` // of an export
	Parts   []json.RawMessage `json:"parts"`
}

type savedPart struct {
	Message string          `json:"message_id"`
	Data    json.RawMessage `json:"data"`
}

// inner returns JSON that may be kept in a string of JSON.
func inner(data json.RawMessage) []byte {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return []byte(text)
	}
	return data
}

// message is one message of a saved session.
type message struct {
	id        string
	createdMS int64
	said      room.Said
}

func (m savedMessage) message() message {
	if len(m.Info) == 0 {
		created := recording.Millis(m.Created)
		return message{id: m.ID, createdMS: created, said: room.Read(inner(m.Data), created, recording.Millis(m.Updated))}
	}
	var info struct {
		ID   string `json:"id"`
		Time struct {
			Created float64 `json:"created"`
		} `json:"time"`
	}
	agent.Decode(m.Info, &info)
	created := recording.Millis(info.Time.Created)
	return message{id: info.ID, createdMS: created, said: room.Read(m.Info, created, 0)}
}

// exported reads sessions that were saved as a whole.
func (r Reader) exported(rec agent.Recording) []recording.Told {
	var all []recording.Told
	for _, data := range agent.Records(rec.Text) {
		var e export
		if !agent.Decode(data, &e) {
			continue
		}
		for _, s := range []savedSession{e.Info, e.Session} {
			if sessionName.MatchString(s.ID) && s.Directory != "" && (e.Said != nil || e.Rows != nil) {
				all = append(all, r.saved(s, e, rec.Text))
			}
		}
	}
	return all
}

// messages returns the messages of either form, newest first, and when opencode
// compacted the session by itself.
func (e export) messages() (all []message, compactedMS []int64) {
	compacts := make(map[string]bool) // by message
	for _, part := range e.Parts {
		compacts[part.Message] = compacts[part.Message] || room.Compacts(inner(part.Data))
	}
	for _, saved := range slices.Concat(e.Said, e.Rows) {
		m := saved.message()
		all = append(all, m)
		if compacts[m.id] || slices.ContainsFunc(saved.Parts, func(part json.RawMessage) bool { return room.Compacts(part) }) {
			compactedMS = append(compactedMS, m.createdMS)
		}
	}
	slices.SortFunc(all, func(x, y message) int {
		return cmp.Or(cmp.Compare(y.createdMS, x.createdMS), cmp.Compare(y.id, x.id))
	})
	return all, compactedMS
}

// saved says how a session stood when it was saved: as the agent's room judges
// the rows of a database, but nobody can be asked about it any more.
func (r Reader) saved(s savedSession, e export, text string) recording.Told {
	messages, compactedMS := e.messages()
	told := recording.Told{
		Session: s.ID, Cwd: s.Directory, Leave: s.left(), Event: resume.Progressed{At: time.UnixMilli(s.createdMS()).UTC()},
	}
	for _, m := range messages {
		if m.said.Silent() {
			continue
		}
		if at := strings.LastIndex(text, `"`+m.id+`"`); told.Line == 0 && m.id != "" && at >= 0 {
			told.Line = strings.Count(text[:at], "\n") + 1
		}
		if m.said.Broken() && compacted(compactedMS, m.said.AtMS()) {
			continue
		}
		told.Event = m.said.Event(r.limits)
		if m.said.Open() {
			told.Event = resume.Cancelled{At: time.UnixMilli(m.said.AtMS()).UTC()}
			told.Leave = cmp.Or(told.Leave, "its last turn was not over when this was written")
		}
		break
	}
	return told
}

// compacted reports whether one of the compactions came right after that time.
func compacted(compactedMS []int64, atMS int64) bool {
	return slices.ContainsFunc(compactedMS, func(ms int64) bool {
		return ms >= atMS-room.CompactionBefore && ms <= atMS+room.CompactionAfter
	})
}
