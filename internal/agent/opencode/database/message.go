package database

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
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
	Error  *failure `json:"error"`

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

// readMessage2 is ReadMessage for a message of version 2 of that type. Only prompts and answers tell a session's
// state: what opencode adds itself, it may add to a session that nobody continues.
func readMessage2(kind string, data []byte, createdMS, updatedMS int64) (m Message) {
	if kind == "assistant" && data == nil { // too long: it has an answer
		m.Meaning = Moved
		return m.timed(createdMS, updatedMS)
	}
	var r struct {
		Record
		Text    string `json:"text"` // of a prompt
		Content []part `json:"content"`
	}
	if kind != "user" && kind != "assistant" || !lines.Decode(data, &r) {
		return Message{}
	}
	m.Record, m.parts, m.Role = r.Record, r.Content, kind
	if kind == "user" {
		m.parts = []part{{Type: "text", Text: r.Text}}
	}
	for i, p := range m.parts {
		m.parts[i] = p.clipped()
	}
	switch m.Meaning = m.meaning(); {
	case m.Meaning == Cancelled && slices.ContainsFunc(m.parts, part.denied):
		m.Meaning = Moved // a permission that was not given ends the turn
	case m.Meaning == Broken:
		m.Meaning = Nothing // the server was restarted, and continued the turn in the next message
	}
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
	if m.AtMS <= 0 || m.AtMS > latestMS {
		return Message{}
	}
	if f := m.Error; f != nil {
		f.Data.Message, f.Data.Body = clipped(f.Data.Message), clipped(f.Data.Body)
	}
	return m
}

// maxText is how much of one text is held in memory while others are read. A prompt on a command line is not longer.
const maxText = 256 << 10

// clipped returns the beginning of a text, without holding the rest in memory.
func clipped(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.Clone(text[:maxText])
}

// latestMS is the end of the year 9999, later than any valid time.
const latestMS = 253402300799999

func millis(ms float64) int64 {
	if ms > 0 && ms <= latestMS {
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
		return m.Error.event(limits, m.At())
	default:
		return nil
	}
}

// Context returns the size of the context that an answer states. How long it is cached is known for one provider.
func (m Message) Context() (size resume.Context, known bool) {
	t := m.Tokens
	size = resume.Context{Tokens: int64(t.Input + t.Output + t.Cache.Read + t.Cache.Write), At: m.At()}
	if m.Provider() == "anthropic" {
		size.Warm = 5 * time.Minute
	}
	return size, size.Tokens > 0 && resume.ValidRecordTime(size.At)
}

type part struct {
	Type      string `json:"type"`
	Auto      bool   `json:"auto"` // of a compaction: not requested by a person
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"` // of a text: written by opencode

	Tool  string `json:"tool"` // the called tool, with its result
	Name  string `json:"name"` // the same in version 2
	State struct {
		Status string         `json:"status"`
		Error  toolError      `json:"error"`
		Input  map[string]any `json:"input"`
	} `json:"state"`
}

type toolError string

// UnmarshalJSON parses the text of version 1, or the type and the text of version 2.
func (e *toolError) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(e)) == nil {
		return nil
	}
	two, _ := lines.Parse[failure2](data)
	if *e = toolError(two.Message); two.Type == "permission.rejected" {
		*e = toolError(denialWords[0])
	}
	return nil
}

// clipped returns the part without what nobody asks for: long texts, and what an allowed tool was called with.
func (p part) clipped() part {
	p.Text = clipped(p.Text)
	if !p.denied() {
		p.State.Input, p.State.Error = nil, ""
	}
	return p
}

func (p part) compacts() bool { return p.Type == "compaction" && p.Auto }

// own reports whether opencode itself created this part of a prompt: for a compaction, or to continue after it.
func (p part) own() bool { return p.compacts() || p.Type == "text" && p.Synthetic }

// denialWords report that a tool was not allowed: no person answered, or a rule of the user forbids it.
var denialWords = []string{"rejected permission to use this specific tool call", "specified a rule which prevents you from using", "The user declined this tool call"}

func (p part) denied() bool {
	return p.Type == "tool" && p.State.Status == "error" && slices.ContainsFunc(denialWords, func(words string) bool {
		return strings.Contains(string(p.State.Error), words)
	})
}

// failure is the error that ended a turn.
type failure struct {
	Name string `json:"name"`
	Data struct {
		Message   string            `json:"message"`
		Status    int               `json:"statusCode"`
		Retryable bool              `json:"isRetryable"`
		Headers   map[string]string `json:"responseHeaders"`
		Body      string            `json:"responseBody"`
	} `json:"data"`
}

type failure2 struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// UnmarshalJSON parses an error of either version.
func (f *failure) UnmarshalJSON(data []byte) error {
	type older failure
	var either struct {
		older
		failure2
	}
	lines.Decode(data, &either) // what cannot be read stays empty: there was an error
	*f = failure(either.older)
	if f.Name == "" && either.Type != "" {
		f.Name, f.Data.Message, f.Data.Status = either.Type, either.Message, either.Status
	}
	return nil
}

// event returns the event for a failure that ended a turn at that time.
func (f *failure) event(limits limit.Reader, at time.Time) resume.Event {
	if f.aborts() {
		return resume.Cancelled{At: at}
	}
	return resume.Limited{At: at, Verdict: f.verdict(limits, at), Text: agent.Clip(f.words())}
}

func (f *failure) aborts() bool { return f.Name == "MessageAbortedError" || f.Name == "aborted" }

func (f *failure) verdict(limits limit.Reader, at time.Time) limit.Verdict {
	limits.At = at
	for name, value := range f.Data.Headers {
		// Times in the answer are by the provider's clock.
		if date, err := http.ParseTime(value); err == nil && http.CanonicalHeaderKey(name) == "Date" {
			limits.At = date
		}
	}
	text := strings.TrimSuffix(f.Data.Message+"\n"+f.Data.Body, "\n")
	v := limits.Refusal(limit.Refusal{Status: f.Data.Status, Headers: f.Data.Headers, Text: text})
	v.InProgress = false // opencode stores an error when it has given up
	class, known := named[f.Name]
	switch {
	case known || v.Class != limit.None && v.Class != limit.Unknown:
	case f.Data.Retryable && f.Data.Status == 0:
		class, known = limit.Network, true // there was no answer
	default:
		class, known = cmp.Or(likely[f.Name], limit.Unknown), true
	}
	if known {
		v.Class, v.WaitHelps = class, class.Transient()
	}
	return v
}

// named are the classes that the name of a failure determines.
var named = map[string]limit.Class{
	"ContextOverflowError":     limit.ContextOverflow,
	"ProviderAuthError":        limit.Auth,
	"MessageOutputLengthError": limit.BadRequest,
	"StructuredOutputError":    limit.BadRequest,
}

// likely are the classes of version 2's types of failures, for those whose status and words have no meaning.
var likely = map[string]limit.Class{
	"provider.auth":            limit.Auth,
	"provider.content-filter":  limit.BadRequest,
	"provider.internal":        limit.ServerError,
	"provider.invalid-output":  limit.ServerError,
	"provider.invalid-request": limit.BadRequest,
	"provider.no-route":        limit.BadRequest,
	"provider.quota":           limit.Billing,
	"provider.rate-limit":      limit.RateLimit,
	"provider.transport":       limit.Network,
}

// words returns the text for people. An error within a stream is stored as the provider's JSON.
func (f *failure) words() string {
	var inner struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(f.Data.Message), &inner) // most are plain text
	return cmp.Or(inner.Message, inner.Error.Message, f.Data.Message, f.Name)
}
