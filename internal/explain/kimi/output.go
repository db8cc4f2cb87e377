// Package kimi reads what Kimi Code tells elsewhere than in the records of its sessions:
// on the output of a run.
package kimi

import (
	"bytes"
	"regexp"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/kimi"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is the agent whose files are read here.
const Name = room.Name

// Reader reads what was recorded of Kimi Code.
type Reader struct {
	limits limit.Reader // without its time
}

// New returns a reader that understands refusals as limits does.
func New(limits limit.Reader) Reader { return Reader{limits} }

// Recognises reports whether a file that begins with head is what a session of Kimi Code
// has written.
func (Reader) Recognises(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	var first struct {
		Type     string  `json:"type"`
		Protocol string  `json:"protocol_version"`
		Created  float64 `json:"created_at"`
	}
	return agent.Decode(line, &first) && first.Type == "metadata" && first.Protocol != "" && first.Created > 0
}

// failed begins the line in which a run tells why it failed: with a code and words.
var failed = regexp.MustCompile(`(?m)^[ \t]*error: failed to run prompt: (.+?): (.*)$`)

// Printed says what the streams of a run without a terminal tell. A failure is on the
// standard error, whatever the format is.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	return recording.FirstStream(rec, func(text string) (told recording.Told, ok bool) {
		limits := r.limits
		limits.At = rec.At
		for _, m := range failed.FindAllStringSubmatchIndex(text, -1) {
			code, words := text[m[2]:m[3]], strings.TrimSpace(text[m[4]:m[5]])
			told.Event = resume.Limited{At: rec.At, Verdict: room.Verdict(limits, code, words), Text: agent.Clip(words)}
			told.Line, ok = recording.LineOf(text, m[2]), true
		}
		return told, ok
	})
}

// Recorded says what a recording tells: the output of a run.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	told, ok := r.Printed(rec)
	return recording.Of(recording.RunOutput, told), ok
}
