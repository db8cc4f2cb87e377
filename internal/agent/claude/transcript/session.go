package transcript

import (
	"bytes"
	"context"
	"time"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// maxBackLines bounds how far back something is looked for: in one long turn there may be many
// records.
const maxBackLines = 20_000

// lookBack visits the records of the main conversation, the last first, until read returns false.
// may reports by the bytes of a line whether it is worth parsing.
func lookBack(ctx context.Context, in agent.Span, may func(line []byte) bool, read func(record, agent.Line) bool) error {
	in.Lines = maxBackLines
	return agent.Visit(ctx, in, may, func(r record, line agent.Line) bool { return r.IsSidechain || read(r, line) })
}

// Settings is what a session ran with and what a resumed run does not take
// over by itself.
type Settings struct {
	Permission string
	Model      string
	Effort     string
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
	err = lookBack(ctx, agent.Whole(transcript), may, func(r record, _ agent.Line) bool {
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

// costState is the type of the record in which Claude Code counts, when it ends, what a session
// has cost: all of it, also what came before. 2.1.325 writes it, 2.1.197 does not.
const costState = "cost-state"

// Cost returns what the session of that transcript has cost until now.
func Cost(ctx context.Context, path string) (cost resume.Cost, known bool, err error) {
	may := func(line []byte) bool { return bytes.Contains(line, []byte(costState)) }
	err = lookBack(ctx, agent.Whole(path), may, func(r record, line agent.Line) bool {
		if known = r.Type == costState && r.CostUSD >= 0; known {
			work := time.Duration(max(0, r.APIDuration)+max(0, r.ToolDuration)) * time.Millisecond
			cost = resume.Cost{USD: r.CostUSD, Work: work, Read: line.Offset}
		}
		return !known
	})
	return cost, known, err
}

// Size returns how large the context was at an answer, and how long the provider
// keeps it: five minutes, or an hour where that was asked for.
func Size(line agent.Line) (resume.Context, bool) {
	if !bytes.Contains(line.Data, []byte(`"input_tokens"`)) {
		return resume.Context{}, false
	}
	r, ok := parse(line.Data)
	u := r.Message.Usage
	if !ok || r.Type != "assistant" || r.IsSidechain || r.IsAPIError || u.Input+u.Created+u.Read <= 0 {
		return resume.Context{}, false
	}
	warm := 5 * time.Minute
	if u.Kept.Hour > 0 {
		warm = time.Hour
	}
	return resume.Context{Tokens: u.Input + u.Created + u.Read + u.Output, At: r.at(line.ModTime), Warm: warm}, true
}
