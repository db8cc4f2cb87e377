// Package pi interprets output of pi outside of its sessions: of a run.
package pi

import (
	"encoding/json"
	"regexp"
	"strings"

	room "resumed/internal/agent/pi"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/lines"
)

// Reader interprets output of pi.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: read}

// first is the first line of a session, and of the output of a run.
type first struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	ID      string `json:"id"`
	Cwd     string `json:"cwd"`
}

// begins recognises the first line of a session.
func begins(line []byte) (is, known bool) {
	var f first
	return lines.Decode(line, &f) && f.Type == "session" && f.Version > 0 && f.ID != "" && f.Cwd != "", true
}

// refusal matches the last line of a run that failed: a status, and what the provider answered.
var refusal = regexp.MustCompile(`^[45][0-9]{2}:? \{.*\}$`)

// read interprets the streams of a run without a terminal.
func read(limits limit.Reader, rec headless.Recording, _ bool) (recording.Report, bool) {
	limits.At = rec.At
	told, ok := recording.FirstStream(rec, func(text string) (recording.Told, bool) {
		told := recording.Follow(text, func(data json.RawMessage) (t recording.Told) {
			if is, _ := begins(data); is {
				f, _ := lines.Parse[first](data)
				t.Session, t.Cwd = f.ID, f.Cwd
			}
			t.Event = room.EventOf(data, limits)
			return t
		})
		return told, told.Session != "" && told.Event != nil
	}, func(text string) (told recording.Told, failed bool) {
		text = strings.TrimSpace(text)
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if failed = refusal.MatchString(last); failed {
			told.Event, told.Line = recording.Refused(rec.At, room.Verdict(limits, last), last), strings.Count(text, "\n")+1
		}
		return told, failed
	})
	return recording.Of(recording.RunOutput, told), ok
}
