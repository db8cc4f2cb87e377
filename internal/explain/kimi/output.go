// Package kimi interprets output of Kimi Code outside of its session records: of a run.
package kimi

import (
	"strings"

	room "resumed/internal/agent/kimi"
	"resumed/internal/explain/recording"
	"resumed/internal/lazy"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets output of Kimi Code.
var Reader = recording.Reader{Name: room.Name, Begins: begins, Read: recording.OfRun(read)}

func begins(line []byte) (is, known bool) {
	var first struct {
		Type     string  `json:"type"`
		Protocol string  `json:"protocol_version"`
		Created  float64 `json:"created_at"`
	}
	return lines.Decode(line, &first) && first.Type == "metadata" && first.Protocol != "" && first.Created > 0, true
}

// failed is the line with the reason why a run failed: a code and a message.
var failed = lazy.Regexp(`^[ \t]*error: failed to run prompt: (.+?): (.*)$`)

// read interprets a stream of a run without a terminal. A failure is on the standard error in every output format.
func read(limits limit.Reader, text string) recording.Told {
	return recording.Lines(text, func(line string) resume.Event {
		m := failed().FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		return recording.Refused(limits.At, room.Verdict(limits, m[1], strings.TrimSpace(m[2])), strings.TrimSpace(m[2]))
	})
}
