package copilot

import (
	"bytes"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

var quotedUse = []byte(`"` + used + `"`)

// size returns how large the context was at an answer. Who was asked, and how long they
// keep it, is not known.
func size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, quotedUse) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	u := r.Data.Usage
	if !ok || r.Type != used || r.aside() || u.Interaction != "conversation-agent" || u.Input+u.Output <= 0 {
		return resume.Context{}, false
	}
	return resume.Context{Tokens: u.Input + u.Output, At: r.at(line.ModTime)}, true
}
