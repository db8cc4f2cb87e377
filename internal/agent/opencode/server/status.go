package server

import (
	"time"

	"resumed/internal/limit"
)

// Event is what a running opencode reports about a session, by its server or its plugin. It is not in the database.
type Event struct {
	Kind      Kind   `json:"-"`
	Type      string `json:"type"` // as opencode calls it
	Session   string `json:"session"`
	Directory string `json:"directory"`
	AtMS      int64  `json:"at"`
	PID       int    `json:"pid"` // of the process that holds the session; 0: the server does
	Status    Status `json:"status"`
}

// Kind is what an event says about its session.
type Kind uint8

// The kinds; the zero Kind says nothing.
const (
	Retrying Kind = iota + 1 // it waits and will retry by itself
	Working                  // it works
	Over                     // the turn is over: the database has the result
	Lost                     // it no longer waits, because its process is gone
)

// Status is the state of a session as opencode reports it.
type Status struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Next    int64  `json:"next"` // epoch in milliseconds
	Action  struct {
		Reason string `json:"reason"`
	} `json:"action"`
}

// Kind returns the kind of the status.
func (s Status) Kind() Kind {
	return map[string]Kind{"retry": Retrying, "busy": Working, "idle": Over}[s.Type]
}

// kindOf returns the kind of an event.
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

// Verdict returns what opencode waits for.
func (s Status) Verdict(limits limit.Reader, at time.Time) limit.Verdict {
	limits.At = at
	v := limits.Refusal(limit.Refusal{Text: s.Message})
	switch {
	case s.Action.Reason == "account_rate_limit" || s.Action.Reason == "free_tier_limit":
		v.Class = limit.UsageLimit
	case !v.Class.Transient() || v.Class == limit.Unknown:
		v.Class = limit.ServerError // opencode retries, so the error is transient
	}
	v.WaitHelps, v.InProgress = true, true
	if at, ok := limit.Epoch(s.Next); ok {
		v.Reset = limit.Reset{At: at, Source: limit.Structured}
	}
	return v
}
