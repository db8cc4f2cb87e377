package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// read says what a line of a chat means for its session. Messages do not name
// their session: the head of their file does.
func (a *Agent) read(line agent.Line) (o resume.Observation, ok bool) {
	r, ok := parse(line.Data)
	if !ok {
		return o, false
	}
	if o.Event, ok = r.event(a.Limits, line.ModTime); !ok {
		return o, false
	}
	head, ok := a.head(line)
	o.Key.ID, o.Cwd = head.id, head.cwd
	return o, ok
}

// event returns what a record says.
//
// A list that replaces all messages moves nothing: each resume begins with one,
// and a failed or cancelled turn is taken back by one. It matters only where it
// ends in a refusal or a cancellation itself.
func (r record) event(limits limit.Reader, modTime time.Time) (resume.Event, bool) {
	if len(r.Set.Messages) > 0 {
		for _, message := range slices.Backward(r.Set.Messages) {
			_, refused := message.refused()
			if refused || message.cancels() {
				return message.event(limits, modTime)
			}
			if message.Type != "info" && message.Type != "warning" {
				break
			}
		}
		return nil, false
	}
	at := r.at(modTime)
	if at.IsZero() {
		return nil, false
	}
	text, refused := r.refused()
	switch {
	case refused:
		limits.At = at
		return resume.Limited{At: at, Verdict: Verdict(limits, limit.Refusal{Text: text}), Text: agent.Clip(text)}, true
	case r.moved():
		return resume.Progressed{At: at}, true
	case r.prompts():
		return resume.Prompted{At: at}, true
	case r.cancels(), r.RewindTo != "": // a person went back to before what happened
		return resume.Cancelled{At: at}, true
	default:
		return nil, false
	}
}

// firstDirectory finds the directory that the preamble of a chat names first:
// where the session began.
func firstDirectory(head []byte) string {
	_, rest, found := strings.Cut(string(head), `- **Workspace Directories:**\n  - `)
	if !found {
		return ""
	}
	escaped, _, found := strings.Cut(rest, `\n`)
	var dir string
	if !found || json.Unmarshal([]byte(`"`+escaped+`"`), &dir) != nil {
		return ""
	}
	return dir
}
