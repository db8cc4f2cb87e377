package transcript

import (
	"bytes"
	"cmp"
	"context"

	"resumed/internal/agent"
)

// Settings is what a session ran with and what a resumed run does not take
// over by itself.
type Settings struct {
	Permission string
	Model      string
	Effort     string
	Cwd        string // of its newest prompt or answer
}

var (
	quotedMode      = []byte(`"permissionMode"`)
	quotedRequested = []byte(`"requestedModel"`)
	quotedFallback  = []byte(`"model_fallback"`)
)

// LastSettings reads what the session ran with last: the permission mode is with its last
// prompt, or in a record of its own since it was changed; model and effort are with its last
// answer. Versions before 2.1 record none of them. If another model went on with the turn of
// that answer, what comes after the turn has the first one again.
func LastSettings(ctx context.Context, transcript string) (had Settings, err error) {
	var prompt, answer, whole bool // whole: the turn of that answer was looked through
	may := func(line []byte) bool {
		return bytes.Contains(line, quotedMode) || !answer && bytes.Contains(line, quotedRequested) || answer && bytes.Contains(line, quotedFallback)
	}
	err = lookBack(ctx, endOf(transcript), may, func(r record, _ agent.Line) bool {
		had.Cwd = cmp.Or(had.Cwd, r.Cwd)
		switch {
		case r.Type == "system" && r.Subtype == "model_fallback":
			if answer && !whole && r.Took == had.Model && r.Left != "" {
				had.Model = r.Left // and on: one may have followed another
			}
		case (r.Type == "user" || r.Type == "permission-mode") && r.Permission != "":
			if !prompt {
				had.Permission, prompt = r.Permission, true
			}
			whole = whole || answer && r.Type == "user"
		case !answer && r.moved() && r.Model != "":
			had.Model, had.Effort, answer = r.Model, r.Effort, true
		}
		return !(prompt && answer && whole)
	})
	return had, err
}
