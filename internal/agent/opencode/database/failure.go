package database

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Failure is the error that ended a turn.
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

// failure2 is the error in version 2.
type failure2 struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// UnmarshalJSON parses an error of either version.
func (f *Failure) UnmarshalJSON(data []byte) error {
	type older Failure
	var either struct {
		older
		failure2
	}
	lines.Decode(data, &either) // what cannot be read stays empty: there was an error
	*f = Failure(either.older)
	if f.Name == "" && either.Type != "" {
		f.Name, f.Data.Message, f.Data.Status = either.Type, either.Message, either.Status
	}
	return nil
}

// Event returns the event for a failure that ended a turn at that time.
func (f *Failure) Event(limits limit.Reader, at time.Time) resume.Event {
	if f.aborts() {
		return resume.Cancelled{At: at}
	}
	return resume.Limited{At: at, Verdict: f.verdict(limits, at), Text: agent.Clip(f.words())}
}

// aborts reports whether a person stopped the turn.
func (f *Failure) aborts() bool { return f.Name == "MessageAbortedError" || f.Name == "aborted" }

// verdict returns the meaning of the failure, at that time of our clock.
func (f *Failure) verdict(limits limit.Reader, at time.Time) limit.Verdict {
	limits.At = at
	for name, value := range f.Data.Headers {
		// Times in the answer are by the provider's clock.
		if date, err := http.ParseTime(value); err == nil && http.CanonicalHeaderKey(name) == "Date" {
			limits.At = date
		}
	}
	text := f.Data.Message
	if f.Data.Body != "" {
		text += "\n" + f.Data.Body
	}
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

// words returns the failure's text for people. An error within a stream is stored as the provider's
// JSON.
func (f *Failure) words() string {
	var inner struct {
		Message string `json:"message"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(f.Data.Message), &inner) // most are plain text
	return cmp.Or(inner.Message, inner.Error.Message, f.Data.Message, f.Name)
}
