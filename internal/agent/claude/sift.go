package claude

import (
	"bytes"

	"resumed/internal/agent"
)

// Within a JSON string a quote is escaped, so these stand only where the
// record itself has them. Nothing is assumed about spaces between them.
var (
	quotedAssistant = []byte(`"assistant"`)
	quotedUser      = []byte(`"user"`)
	quotedToolUseID = []byte(`"tool_use_id"`)
	apiErrorMessage = []byte(`ApiErrorMessage`)
	interruption    = []byte(interrupted)
)

// sift passes over bookkeeping and over tool results, which are most of a
// transcript's bytes.
func sift(line []byte) agent.Weight {
	switch recordType(line) {
	case "user":
		if !bytes.Contains(agent.Head(line), quotedToolUseID) && !bytes.Contains(line, quotedToolUseID) {
			return agent.Matters
		}
		if bytes.Contains(line, interruption) { // a person's stop may stand beside the result of the tool it stopped
			return agent.Matters
		}
	case "assistant":
		if bytes.Contains(line, apiErrorMessage) {
			return agent.Matters
		}
		return agent.Moves
	case "system":
		if bytes.Contains(line, quotedInformational) {
			return agent.Matters
		}
	}
	return agent.Nothing
}

// recordType returns the type of a record, where it is one that matters.
// Where its ends do not tell, the whole line is looked through: who speaks is
// said before what is said, so the first of the two names is the speaker's.
func recordType(line []byte) string {
	if kind, known := agent.TextAtEnds(line, "type"); known {
		return string(kind)
	}
	user, assistant := bytes.Index(line, quotedUser), bytes.Index(line, quotedAssistant)
	switch {
	case user >= 0 && (assistant < 0 || user < assistant):
		return "user"
	case bytes.Contains(line, quotedInformational):
		return "system"
	case assistant >= 0:
		return "assistant"
	default:
		return ""
	}
}
