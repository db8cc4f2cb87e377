package claude

import (
	"resumed/internal/agent/claude/startup"
	"resumed/internal/agent/claude/transcript"
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
func (a *Agent) models(had transcript.Settings, s resume.Session, carried []string) (models resume.Models, left []leash.Omission) {
	switch {
	case a.fallback == "" || s.Limit.Class != limit.Overloaded || startup.Flags.Parse(carried).Has(fallbackFlag):
	case !modelName.MatchString(had.Model):
		left = []leash.Omission{{What: "fallback_model", Why: "the transcript does not record which model the session uses, so that it could not go back to it"}}
	case a.fallback == had.Model:
	default:
		models = resume.Models{Own: had.Model, Fallback: a.fallback}
	}
	return models, left
}
