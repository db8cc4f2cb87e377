package kimi

import (
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// record is one line of what a session writes.
type record struct {
	Type   string  `json:"type"`
	Time   float64 `json:"time"` // in milliseconds
	Reason string  `json:"reason"`

	// of the end of a turn
	Error failure `json:"error"`

	// of a request that will be tried again
	Delay   float64 `json:"delayMs"`
	Name    string  `json:"errorName"`
	Message string  `json:"errorMessage"`
	Status  int     `json:"statusCode"`

	// of a prompt
	Input  []part `json:"input"`
	Origin origin `json:"origin"`

	Event  step   `json:"event"`
	Mode   string `json:"mode"`
	Tokens int64  `json:"tokens"`
}

// The types that matter.
const (
	prompted  = "turn.prompt"
	steered   = "turn.steer"
	stepped   = "context.append_loop_event"
	retrying  = "turn.step.retrying"
	turnEnded = "turn.ended"
	undone    = "context.undo"
	cleared   = "context.clear"
	moded     = "permission.set_mode"
	measured  = "token_counting.measured"
)

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type origin struct {
	Kind string `json:"kind"`
}

// step is what the model did, or what became of it.
type step struct {
	Type string `json:"type"`
	Part part   `json:"part"`
}

// failure is why a turn ended.
type failure struct {
	Code    string `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	Details struct {
		Status int `json:"statusCode"`
	} `json:"details"`
	Cause struct {
		Code string `json:"code"`
		Name string `json:"name"`
	} `json:"cause"`
}

func parse(line []byte) (record, bool) { return agent.Parse[record](line) }

// moved reports whether the model itself spoke, or called a tool.
func (r record) moved() bool {
	if r.Type != stepped {
		return false
	}
	return r.Event.Type == "tool.call" || r.Event.Type == "content.part" && strings.TrimSpace(r.Event.Part.Text) != ""
}

// by is who gave a prompt; empty: a person, or a command line.
func (r record) by() string {
	if r.Origin.Kind != "" && r.Origin.Kind != "user" {
		return "Kimi Code itself"
	}
	return ""
}

// said returns the words of a prompt.
func (r record) said() string {
	var texts []string
	for _, p := range r.Input {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// at returns the record's own time. One without, or with an impossible one, is as old
// as its file.
func (r record) at(file time.Time) time.Time {
	if t := time.UnixMilli(int64(r.Time)); r.Time > 0 && resume.Possible(t) {
		return t
	}
	return file
}
