package opencode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent/opencode/database"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// saved contains the rows of one session.
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

// record returns the JSON that is stored as a string.
func (r row) record() []byte {
	var text string
	if json.Unmarshal(r.Data, &text) == nil {
		return []byte(text)
	}
	return r.Data
}

// saved reads sessions whose rows were saved as JSON.
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
