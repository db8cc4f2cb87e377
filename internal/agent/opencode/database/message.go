package database

import (
	"cmp"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Message is one message of a session.
type Message struct {
	ID      string
	Session string
	Record
	Meaning Meaning
	AtMS    int64 // when what it means happened

	row       int64
	createdMS int64
	long      bool // it is too long to be read: what it says is not known
}

// Record is what the column data holds.
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

// Provider returns the provider that was asked, or nothing where the record does not say.
func (r Record) Provider() string { return cmp.Or(r.ProviderID, r.Model.Provider) }

// Meaning is what a message says of its session.
type Meaning uint8

// What a message may mean.
const (
	Nothing   Meaning = iota // no message of a conversation
	Pending                  // not over: it runs, waits in a retry, or its process died
	Broken                   // over without an end: cancelled in a retry, or about to be compacted
	Prompted                 // a turn was asked for
	Moved                    // a turn, or a step of one, that came to its end
	Cancelled                // a turn that a person stopped
	Failed                   // a turn that an error stopped
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

// ReadMessage says what the record of a message means. Its time is taken from the
// record, and only where that has none from the row: opencode touches rows again
// long after what they tell has happened.
func ReadMessage(data []byte, createdMS, updatedMS int64) Message {
	var m Message
	if !agent.Decode(data, &m.Record) {
		return Message{}
	}
	m.Meaning = m.meaning()
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

// maxText is what is held of one text while others are read. A prompt that a
// command line can hold is not longer.
const maxText = 256 << 10

// clipped returns the beginning of a text, without the rest in memory.
func clipped(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.Clone(text[:maxText])
}

// LatestMS is the end of the year 9999: no clock runs that far ahead.
const LatestMS = 253402300799999

func millis(ms float64) int64 {
	if ms > 0 && ms <= LatestMS {
		return int64(ms)
	}
	return 0
}

// At is when what the message means happened.
func (m Message) At() time.Time { return time.UnixMilli(m.AtMS).UTC() }

// Event returns what happened, or nil where nothing is to be reported.
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

// Context returns the size of the context as an answer tells it, or false where the message
// does not tell. How long it is cached is known of one provider only.
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
