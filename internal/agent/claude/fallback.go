package claude

import (
	"bytes"

	"resumed/internal/leash"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// fallbackFlag names what Claude Code goes on with where its model is overloaded. It
// tries its own model first, as often as ever; a limit is met by either of them.
const fallbackFlag = "--fallback-model"

// models says what a resume of the session may go on with. Only an overload lets it have
// another model: after a limit that would go round it. A session that was started with
// the flag has its own, whatever stopped it.
func (a *Agent) models(had settings, s resume.Session, carried []string) (models resume.Models, left []leash.Omission) {
	switch {
	case a.fallback == "" || s.Limit.Class != limit.Overloaded || flags.Parse(carried).Has(fallbackFlag):
	case !modelName.MatchString(had.model):
		left = []leash.Omission{{What: "fallback_model", Why: "the transcript does not record which model the session uses, so that it could not go back to it"}}
	case a.fallback == had.model:
	default:
		models = resume.Models{Own: had.model, Fallback: a.fallback}
	}
	return models, left
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
