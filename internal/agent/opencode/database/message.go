package database

import (
	"cmp"
	"strings"
	"time"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Message is one message of a session.
type Message struct {
	ID      string
	Session string
	Record
	Meaning Meaning
	AtMS    int64 // the time of what it means

	row       int64
	createdMS int64
	long      bool   // too long to be read: its content is not known
	parts     []part // in version 2, in which a record contains them
}

// Record is the content of the column data.
type Record struct {
	Role string `json:"role"`
	Time struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	Finish string   `json:"finish"`
	Error  *Failure `json:"error"`

	Agent      string `json:"agent"`
	Variant    string `json:"variant"`
	ProviderID string `json:"providerID"` // of an answer
	Model      struct {
		Provider string `json:"providerID"` // of a prompt
		ID       string `json:"modelID"`
		Variant  string `json:"variant"`
	} `json:"model"`
	Tokens struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
		Cache  struct {
			Read  float64 `json:"read"`
			Write float64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

// Provider returns the provider of the message; "": not recorded.
func (r Record) Provider() string { return cmp.Or(r.ProviderID, r.Model.Provider) }

// Meaning is what a message says about its session.
type Meaning uint8

// The meanings.
const (
	Nothing   Meaning = iota // not a message of the conversation
	Pending                  // not finished: it runs, waits for a retry, or its process died
	Broken                   // finished without a result: cancelled during a retry, or compaction follows
	Prompted                 // a prompt
	Moved                    // a turn, or a step of it, that ended normally
	Cancelled                // a person stopped the turn
	Failed                   // an error stopped the turn
)

func (r Record) meaning() Meaning {
	switch {
	case r.Role == "user":
		return Prompted
	case r.Role != "assistant":
		return Nothing
	case r.Error != nil && r.Error.aborts():
		return Cancelled
	case r.Error != nil:
		return Failed
	case r.Time.Completed <= 0:
		return Pending
	case r.Finish != "":
		return Moved
	default:
		return Broken
	}
}

// ReadMessage parses the record of a message. Its time is taken from the record, and from the row only if
// the record has none: opencode updates rows again long after the event.
func ReadMessage(data []byte, createdMS, updatedMS int64) Message {
	var m Message
	if !lines.Decode(data, &m.Record) {
		return Message{}
	}
	m.Meaning = m.meaning()
	return m.timed(createdMS, updatedMS)
}

// timed returns the message with the time of what it means, or a zero one if it has none.
func (m Message) timed(createdMS, updatedMS int64) Message {
	switch m.Meaning {
	case Prompted, Pending:
		m.AtMS = cmp.Or(millis(m.Time.Created), createdMS, updatedMS)
	default:
		m.AtMS = cmp.Or(millis(m.Time.Completed), updatedMS, createdMS, millis(m.Time.Created))
	}
	if m.AtMS <= 0 || m.AtMS > LatestMS {
		return Message{}
	}
	if f := m.Error; f != nil {
		f.Data.Message, f.Data.Body = clipped(f.Data.Message), clipped(f.Data.Body)
	}
	return m
}

// maxText is how much of one text is held in memory while others are read. A prompt on a command line is
// not longer.
const maxText = 256 << 10

// clipped returns the beginning of a text, without holding the rest in memory.
func clipped(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.Clone(text[:maxText])
}

// LatestMS is the end of the year 9999, later than any valid time.
const LatestMS = 253402300799999

func millis(ms float64) int64 {
	if ms > 0 && ms <= LatestMS {
		return int64(ms)
	}
	return 0
}

// At returns the time of what the message means.
func (m Message) At() time.Time { return time.UnixMilli(m.AtMS).UTC() }

// Event returns the event of the message; nil: nothing to report.
func (m Message) Event(limits limit.Reader) resume.Event {
	switch m.Meaning {
	case Prompted:
		return resume.Prompted{At: m.At()}
	case Moved:
		return resume.Progressed{At: m.At()}
	case Cancelled, Broken:
		return resume.Cancelled{At: m.At()}
	case Failed:
		return m.Error.Event(limits, m.At())
	default:
		return nil
	}
}

// Context returns the size of the context that an answer states, or false if there is none. How long it
// is cached is known for one provider only.
func (m Message) Context() (size resume.Context, known bool) {
	t := m.Tokens
	size = resume.Context{Tokens: int64(t.Input + t.Output + t.Cache.Read + t.Cache.Write), At: m.At()}
	if m.Provider() == "anthropic" {
		size.Warm = 5 * time.Minute
	}
	return size, size.Tokens > 0 && resume.Possible(size.At)
}

// compare orders the messages of a session by time.
func (m Message) compare(o Message) int {
	return cmp.Or(cmp.Compare(m.createdMS, o.createdMS), cmp.Compare(m.ID, o.ID))
}
