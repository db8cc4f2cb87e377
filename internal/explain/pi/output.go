// Package pi interprets output of pi outside of its sessions: of a run.
package pi

import (
	"encoding/json"
	"regexp"
	"strings"

	room "resumed/internal/agent/pi"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// Reader interprets output of pi.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: recording.OfRun(records, words)}

// first is the first line of a session, and of the output of a run.
type first struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
}

func begins(line []byte) (is, known bool) {
	var f first
	return lines.Decode(line, &f) && f.Type == "session" && f.Version > 0 && f.ID != "" && f.Cwd != "", true
}

// records interprets the output of a run in JSON.
func records(limits limit.Reader, text string) recording.Told {
	told := recording.Follow(text, func(data json.RawMessage) (t recording.Told) {
		if is, _ := begins(data); is {
			f, _ := lines.Parse[first](data)
			t.Session, t.Cwd = f.ID, f.Cwd
		}
		t.Event = room.EventOf(data, limits)
		return t
	})
	if told.Session == "" {
		return recording.Told{} // the records may be another agent's
	}
	return told
}

// refusal matches the last line of a run that failed: a status, and what the provider answered.
var refusal = regexp.MustCompile(`^[45][0-9]{2}:? \{.*\}$`)

// words interprets the output of a run for people.
func words(limits limit.Reader, text string) (told recording.Told) {
	text = strings.TrimSpace(text)
	if last := text[strings.LastIndexByte(text, '\n')+1:]; refusal.MatchString(last) {
		told.Event, told.Line = recording.Refused(limits.At, room.Verdict(limits, last), last), recording.LineOf(text, len(text))
	}
	return told
}
