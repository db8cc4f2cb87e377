package server

import (
	"time"

	"resumed/internal/limit"
)

// Event is what a running opencode reports of a session: by its server or by the
// plugin. None of it is in the database.
type Event struct {
	Kind      Kind
	Session   string
	Directory string
	AtMS      int64
	PID       int // of the process that holds the session; 0: the server does
	Status    Status
}

// Kind is what an event says of its session.
type Kind uint8

// What an event may say; the zero Kind says nothing.
const (
	Retrying Kind = iota + 1 // it waits and will try again by itself
	Working                  // it works
	Over                     // the turn is over: the database says how
	Lost                     // it does not wait any more, because its process is gone
)

// Status is the state of a session as opencode says it.
type Status struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // epoch in milliseconds
	Action  struct {
		Reason string `json:"reason"`
	} `json:"action"`
}

// Kind returns what the status says.
func (s Status) Kind() Kind {
	switch s.Type {
	case "retry":
		return Retrying
	case "busy":
		return Working
	case "idle":
		return Over
	default:
		return 0
	}
}

// kindOf returns what an event of that type says of its session.
func kindOf(eventType string, s Status) Kind {
	switch eventType {
	case "session.status":
		return s.Kind()
	case "session.idle", "session.error":
		return Over
	default:
		return 0
	}
}

// Verdict says what opencode is waiting for.
func (s Status) Verdict(limits limit.Reader, at time.Time) limit.Verdict {
	limits.At = at
	v := limits.Refusal(limit.Refusal{Text: s.Message})
	switch {
	case s.Action.Reason == "account_rate_limit" || s.Action.Reason == "free_tier_limit":
		v.Class = limit.UsageLimit
	case !v.Class.Transient() || v.Class == limit.Unknown:
		v.Class = limit.ServerError // it is tried again, so it is one that passes
	}
	v.WaitHelps, v.InProgress = true, true
	if at, ok := limit.Epoch(s.Next); ok {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}
