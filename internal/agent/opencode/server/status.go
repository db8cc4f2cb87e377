package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"
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

// maxPluginFile bounds how much of the plugin's file is read at a time; the plugin begins a new file before that.
const maxPluginFile = 4 << 20

// latestMS is the end of the year 9999, later than any valid time.
const latestMS = 253402300799999

// PluginFile is the file that the plugin writes.
type PluginFile struct {
	Path   string
	last   os.FileInfo
	offset int64 // of the unread part
}

// parseLine parses a line of the plugin, or returns false if it has no meaning.
func parseLine(line []byte) (e Event, ok bool) {
	if json.Unmarshal(line, &e) != nil || e.Session == "" || e.PID <= 0 || e.AtMS <= 0 || e.AtMS > latestMS {
		return Event{}, false
	}
	e.Kind = kindOf(e.Type, e.Status)
	return e, e.Kind != 0
}

// Read returns the events in new complete lines. A new file is read from its start.
func (f *PluginFile) Read() ([]Event, error) {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if f.last == nil || !os.SameFile(f.last, info) || info.Size() < f.offset {
		f.offset = 0
	}
	f.last = info
	f.offset = max(f.offset, info.Size()-maxPluginFile) // then the first line is cut and ignored
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, maxPluginFile))
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	var events []Event
	for line := range bytes.Lines(data) {
		if e, ok := parseLine(line); ok {
			events = append(events, e)
		}
	}
	return events, nil
}
