// Package kimi reads what Kimi Code says elsewhere than in the records of its sessions:
// on the output of a run.
package kimi

import (
	"bytes"
	"strings"

	"resumed/internal/agent"
	room "resumed/internal/agent/kimi"
	"resumed/internal/explain/recording"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Name is whose files are read here.
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

// failed is how a run says that it came to nothing. What follows is a code, a colon and
// the words.
const failed = "error: failed to run prompt: "

// Printed says what the streams of a run without a terminal tell. A failure is on the
// standard error, whatever the format is.
func (r Reader) Printed(rec agent.Recording) (recording.Told, bool) {
	if told, ok := r.heard(rec.Text, rec); ok {
		return told, true
	}
	told, ok := r.heard(rec.Beside, rec)
	told.Beside = true
	return told, ok
}

// heard reads one stream.
func (r Reader) heard(text string, rec agent.Recording) (told recording.Told, ok bool) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		code, words, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), failed), ": ")
		if !strings.HasPrefix(strings.TrimSpace(line), failed) || !found {
			continue
		}
		limits := r.limits
		limits.At = rec.At
		told.Event, told.Line, ok = resume.Limited{At: rec.At, Verdict: room.Verdict(limits, code, words), Text: agent.Clip(words)}, n, true
	}
	return told, ok
}

// Recorded says what a recording tells: the output of a run.
func (r Reader) Recorded(rec agent.Recording) (recording.Report, bool) {
	told, ok := r.Printed(rec)
	return recording.Report{Kind: recording.RunOutput, Told: []recording.Told{told}}, ok
}
