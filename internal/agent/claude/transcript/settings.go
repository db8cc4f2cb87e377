package transcript

import (
	"bytes"
	"context"

	"resumed/internal/agent"
)

// Settings is what a session ran with and what a resumed run does not take
// over by itself.
type Settings struct {
	Permission string
	Model      string
	Effort     string
}

// maxSettingsLines bounds how far back settings are looked for: in one long
// turn there may be many records since the last prompt.
const maxSettingsLines = 20_000

// LastSettings reads what the session ran with last: the permission mode is
// with its last prompt, or in a record of its own since it was changed; model and effort are with its last answer. Versions
// before 2.1 record none of them.
func LastSettings(ctx context.Context, transcript string) (Settings, error) {
	var (
		had             Settings
		prompt, answer  bool
		whole           bool // the turn of that answer was looked through: another model may have taken it over
		visited         int
		quotedMode      = []byte(`"permissionMode"`)
		quotedRequested = []byte(`"requestedModel"`)
	)
	err := agent.LinesBack(ctx, transcript, func(line agent.Line) bool {
		visited++
		if before, ok := fellBack(line.Data, had.Model); ok && answer && !whole {
			had.Model = before // and on: one may have followed another
		}
		mayPrompt := !(prompt && whole) && bytes.Contains(line.Data, quotedMode)
		mayAnswer := !answer && bytes.Contains(line.Data, quotedRequested)
		if mayPrompt || mayAnswer {
			r, ok := parse(line.Data)
			switch {
			case !ok || r.IsSidechain:
			case mayPrompt && (r.Type == "user" || r.Type == "permission-mode") && r.Permission != "":
				if !prompt {
					had.Permission, prompt = r.Permission, true
				}
				whole = whole || answer && r.Type == "user"
			case mayAnswer && r.moved():
				had.Model, had.Effort, answer = r.Model, r.Effort, true
			}
		}
		return visited < maxSettingsLines && !(prompt && answer && whole)
	})
	return had, err
}

// quotedFallback is in the record of another model that went on with a turn.
var quotedFallback = []byte(`"model_fallback"`)

// fellBack returns the model that a turn had before model went on with it, if the line
// says so. What comes after the turn has the first one again.
func fellBack(line []byte, model string) (before string, ok bool) {
	if !bytes.Contains(line, quotedFallback) {
		return "", false
	}
	r, ok := parse(line)
	return r.Left, ok && !r.IsSidechain && r.Type == "system" && r.Subtype == "model_fallback" && r.Took == model && r.Left != ""
}
