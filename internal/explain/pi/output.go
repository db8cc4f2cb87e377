// Package pi interprets output of pi outside of its sessions: of a run.
package pi

import (
	"encoding/json"
	"strings"

	room "resumed/internal/agent/pi"
	"resumed/internal/explain/recording"
	"resumed/internal/lazy"
	"resumed/internal/limit"
)

// Reader interprets output of pi.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: recording.OfRun(records, words)}

func begins(line []byte) (is, known bool) {
	_, _, is = room.Header(line)
	return is, true
}

// records interprets the output of a run in JSON.
func records(limits limit.Reader, text string) recording.Told {
	told := recording.Follow(text, func(data json.RawMessage) (t recording.Told) {
		if session, cwd, ok := room.Header(data); ok {
			t.Session, t.Cwd = session, cwd
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
var refusal = lazy.Regexp(`^[45][0-9]{2}:? \{.*\}$`)

// words interprets the output of a run for people.
func words(limits limit.Reader, text string) (told recording.Told) {
	text = strings.TrimSpace(text)
	if last := text[strings.LastIndexByte(text, '\n')+1:]; refusal().MatchString(last) {
		told.Event, told.Line = recording.Refused(limits.At, room.Verdict(limits, last), last), recording.LineOf(text, len(text))
	}
	return told
}
