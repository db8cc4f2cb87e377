package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
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

func (s savedSession) conversation() conversation {
	return conversation{
		id: s.ID, parent: cmp.Or(s.Parent, s.ParentRow), directory: s.Directory,
		createdMS: cmp.Or(millis(s.Created), millis(s.Time.Created)),
		archived:  s.Archived > 0 || s.Time.Archived > 0,
	}
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

func (m savedMessage) message() message {
	if len(m.Info) == 0 {
		return message{id: m.ID, createdMS: millis(m.Created), updatedMS: millis(m.Updated), data: inner(m.Data)}
	}
	var info struct {
		ID   string `json:"id"`
		Time struct {
			Created float64 `json:"created"`
		} `json:"time"`
	}
	decode(m.Info, &info)
	return message{id: info.ID, createdMS: millis(info.Time.Created), data: m.Info}
}

// exported reads sessions that were saved as a whole.
func (a *Agent) exported(rec agent.Recording) []agent.Told {
	var all []agent.Told
	for _, data := range agent.Records(rec.Text) {
		var e export
		if !decode(data, &e) {
			continue
		}
		for _, s := range []savedSession{e.Info, e.Session} {
			if sessionName.MatchString(s.ID) && s.Directory != "" && (e.Said != nil || e.Rows != nil) {
				all = append(all, a.saved(e, s.conversation(), rec.Text))
			}
		}
	}
	return all
}

func (a *Agent) saved(e export, c conversation, text string) agent.Told {
	var messages []message
	compactions := make(map[string]bool) // by message
	for _, m := range slices.Concat(e.Said, e.Rows) {
		one := m.message()
		messages = append(messages, one)
		for _, part := range m.Parts {
			compactions[one.id] = compactions[one.id] || readPart(part).compacts()
		}
	}
	for _, part := range e.Parts {
		compactions[part.Message] = compactions[part.Message] || readPart(inner(part.Data)).compacts()
	}
	slices.SortFunc(messages, func(x, y message) int {
		return cmp.Or(cmp.Compare(y.createdMS, x.createdMS), cmp.Compare(y.id, x.id))
	})
	ask := questions{
		compacted: func(atMS int64) (bool, error) {
			return slices.ContainsFunc(messages, func(m message) bool {
				return compactions[m.id] && m.createdMS >= atMS-compactionBefore && m.createdMS <= atMS+compactionAfter
			}), nil
		},
		unfinished: func(s said) (resume.Event, string, error) {
			return resume.Cancelled{At: time.UnixMilli(s.atMS).UTC()}, "its last turn was not over when this was written", nil
		},
	}
	b := &book{account: a.homes[0].account, reader: a.reader}
	evidence, _ := b.stands(c, messages, ask) // neither question can fail
	told := agent.Told{Session: c.id, Cwd: c.directory, Event: evidence.Event, Leave: evidence.Leave}
	for _, m := range messages {
		if at := strings.LastIndex(text, `"`+m.id+`"`); m.id != "" && m.read().meaning != nothing && at >= 0 {
			told.Line = strings.Count(text[:at], "\n") + 1
			break
		}
	}
	return told
}

// tellings is what is told of sessions, in the order in which they appear.
type tellings struct {
	order     []string
	bySession map[string]*telling
}

// telling is what is told of one session, and what the next event has to know.
type telling struct {
	agent.Told
	waited resume.Limited // for the last time that it tried again
}

func (t *tellings) of(session string) *telling {
	if t.bySession == nil {
		t.bySession = make(map[string]*telling)
	}
	one, ok := t.bySession[session]
	if !ok {
		one = &telling{Told: agent.Told{Session: session}}
		t.bySession[session] = one
		t.order = append(t.order, session)
	}
	return one
}

func (t *tellings) told() []agent.Told {
	var all []agent.Told
	for _, session := range t.order {
		all = append(all, t.bySession[session].Told)
	}
	return all
}
