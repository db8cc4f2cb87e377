package opencode

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// message is one row of the table message.
type message struct {
	row       int64
	id        string
	session   string
	createdMS int64
	said      Said
	long      bool // it is too long to be read: what it says is not known
}

// record is what the column data holds.
type record struct {
	Role string `json:"role"`
	Time struct {
		Created   float64 `json:"created"`
		Completed float64 `json:"completed"`
	} `json:"time"`
	Finish string   `json:"finish"`
	Error  *Failure `json:"error"`

	Agent    string `json:"agent"`
	Variant  string `json:"variant"`
	Provider string `json:"providerID"` // of an answer
	Model    struct {
		Provider string `json:"providerID"` // of a prompt
		ID       string `json:"modelID"`
		Variant  string `json:"variant"`
	} `json:"model"`
}

// provider returns who was asked, or nothing where the record does not say.
func (r record) provider() string { return cmp.Or(r.Provider, r.Model.Provider) }

// Failure is what ended a turn.
type Failure struct {
	Name string `json:"name"`
	Data struct {
		Message   string            `json:"message"`
		Status    int               `json:"statusCode"`
		Retryable bool              `json:"isRetryable"`
		Headers   map[string]string `json:"responseHeaders"`
		Body      string            `json:"responseBody"`
	} `json:"data"`
}

// meaning is what a message says of its session.
type meaning uint8

const (
	nothing   meaning = iota // no message of a conversation
	pending                  // not over: it runs, waits in a retry, or its process died
	broken                   // over without an end: cancelled in a retry, or about to be compacted
	prompted                 // somebody asked for a turn
	moved                    // a turn, or a step of one, that came to its end
	cancelled                // a turn that a person stopped
	failed                   // a turn that an error stopped
)

func (r record) meaning() meaning {
	switch {
	case r.Role == "user":
		return prompted
	case r.Role != "assistant":
		return nothing
	case r.Error != nil && r.Error.aborts():
		return cancelled
	case r.Error != nil:
		return failed
	case r.Time.Completed <= 0:
		return pending
	case r.Finish != "":
		return moved
	default:
		return broken
	}
}

// Said is what one message says, and when it says it.
type Said struct {
	meaning meaning
	atMS    int64
	record  record
}

// Read says what the record of a message means. Its time is taken from the
// record, and only where that has none from the row: opencode touches rows again
// long after what they tell has happened.
func Read(data []byte, createdMS, updatedMS int64) Said {
	var r record
	if !agent.Decode(data, &r) {
		return Said{}
	}
	s := Said{meaning: r.meaning(), record: r}
	switch s.meaning {
	case prompted, pending:
		s.atMS = cmp.Or(millis(r.Time.Created), createdMS, updatedMS)
	default:
		s.atMS = cmp.Or(millis(r.Time.Completed), updatedMS, createdMS, millis(r.Time.Created))
	}
	if s.atMS <= 0 || s.atMS > latestMS {
		return Said{}
	}
	return s
}

// longestText is what is kept of one text while others are read. A prompt that a
// command line can hold is not longer.
const longestText = 256 << 10

// clipped returns the beginning of a text, without the rest in memory.
func clipped(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.Clone(text[:longestText])
}

// trimmed lets go of what nobody reads in a very long failure.
func (s Said) trimmed() Said {
	if f := s.record.Error; f != nil {
		f.Data.Message, f.Data.Body = clipped(f.Data.Message), clipped(f.Data.Body)
	}
	return s
}

// Silent reports whether it is no message of a conversation.
func (s Said) Silent() bool { return s.meaning == nothing }

// Open reports whether the message is not over: it runs, waits in a retry, or
// its process died.
func (s Said) Open() bool { return s.meaning == pending }

// Broken reports whether the message is over without an end: cancelled in a
// retry, or about to be compacted.
func (s Said) Broken() bool { return s.meaning == broken }

// AtMS is when it was said.
func (s Said) AtMS() int64 { return s.atMS }

// latestMS is the end of the year 9999: no clock runs that far ahead.
const latestMS = 253402300799999

func millis(ms float64) int64 {
	if ms > 0 && ms <= latestMS {
		return int64(ms)
	}
	return 0
}

// Event returns what happened, or nil where nothing is to be told.
func (s Said) Event(reader limit.Reader) resume.Event {
	at := time.UnixMilli(s.atMS).UTC()
	switch s.meaning {
	case prompted:
		return resume.Prompted{At: at}
	case moved:
		return resume.Progressed{At: at}
	case cancelled, broken:
		return resume.Cancelled{At: at}
	case failed:
		return s.record.Error.Event(reader, at)
	default:
		return nil
	}
}

// Event returns what a failure means that ended a turn at that time.
func (f *Failure) Event(reader limit.Reader, at time.Time) resume.Event {
	if f.aborts() {
		return resume.Cancelled{At: at}
	}
	return resume.Limited{At: at, Verdict: f.verdict(reader, at), Text: agent.Clip(f.words())}
}

// aborts reports whether a person stopped the turn.
func (f *Failure) aborts() bool { return f.Name == "MessageAbortedError" }

// verdict says what the failure means, seen at that time by our clock.
func (f *Failure) verdict(reader limit.Reader, at time.Time) limit.Verdict {
	reader.At = at
	for name, value := range f.Data.Headers {
		// What the provider says of time it says by its own clock.
		if date, err := http.ParseTime(value); err == nil && http.CanonicalHeaderKey(name) == "Date" {
			reader.At = date
		}
	}
	v := reader.Refusal(limit.Refusal{
		Status:  f.Data.Status,
		Headers: f.Data.Headers,
		Text:    f.text(),
	})
	v.InProgress = false // it is over: opencode stores an error when it has given up
	if class, known := f.named(); known || v.Class == limit.None || v.Class == limit.Unknown {
		v.Class = class
		v.WaitHelps = class.Transient()
	}
	return v
}

// named returns the class that the failure's name tells, and otherwise the one
// of a failure of which nothing else is known.
func (f *Failure) named() (class limit.Class, known bool) {
	switch f.Name {
	case "ContextOverflowError":
		return limit.ContextOverflow, true
	case "ProviderAuthError":
		return limit.Auth, true
	case "MessageOutputLengthError", "StructuredOutputError":
		return limit.BadRequest, true
	}
	if f.Data.Retryable && f.Data.Status == 0 {
		return limit.Network, false // there was no answer
	}
	return limit.Unknown, false
}

// text is all that the failure says, for judging it.
func (f *Failure) text() string {
	if f.Data.Body == "" {
		return f.Data.Message
	}
	return f.Data.Message + "\n" + f.Data.Body
}

// words is what the failure says to people: an error in the middle of a stream
// is stored as the provider's JSON.
func (f *Failure) words() string {
	var inner struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(f.Data.Message), &inner) // most are plain words
	return cmp.Or(inner.Message, inner.Error.Message, f.Data.Message, f.Name)
}
