package claude

import (
	"bytes"
	"strings"

	"resumed/internal/agent"
)

// Within a JSON string a quote is escaped, so these stand only where the
// record itself has them. Nothing is assumed about spaces between them.
var (
	quotedAssistant = []byte(`"assistant"`)
	quotedUser      = []byte(`"user"`)
	quotedToolUseID = []byte(`"tool_use_id"`)
	endTurn         = []byte(`_turn"`)   // found faster than with its quote
	useID           = []byte(`_use_id"`) // found faster
	formational     = []byte(`formational"`)
	apiErrorMessage = []byte(`ApiErrorMessage`)
	interruption    = []byte(strings.TrimPrefix(interrupted, "[")) // a bracket stands everywhere
)

// sift passes over bookkeeping and over tool results, which are most of a
// transcript's bytes.
func sift(line []byte) agent.Weight {
	switch string(recordType(line)) {
	case "user":
		if !hasToolUseID(line) {
			return agent.Matters
		}
		// A person's stop, and a note of the limit, may stand beside the result of a tool.
		if bytes.Contains(line, interruption) || bytes.Contains(line, noteName) {
			return agent.Matters
		}
	case "assistant":
		if bytes.Contains(line, apiErrorMessage) || bytes.Contains(line, endTurn) {
			return agent.Matters // the end of a turn may be one that a limit brought about
		}
		return agent.Moves
	case "system":
		if bytes.Contains(line, formational) && bytes.Contains(line, quotedInformational) {
			return agent.Matters
		}
	}
	return agent.Nothing
}

// hasToolUseID reports whether a line holds the result of a tool.
func hasToolUseID(line []byte) bool {
	if bytes.Contains(agent.Head(line), useID) && bytes.Contains(agent.Head(line), quotedToolUseID) {
		return true
	}
	return bytes.Contains(line, useID) && bytes.Contains(line, quotedToolUseID)
}

// recordType returns the type of a record, where it is one that matters.
// Where its ends do not tell, the whole line is looked through: who speaks is
// said before what is said, so the first of the two names is the speaker's.
func recordType(line []byte) []byte {
	if kind, known := agent.TextAtEnds(line, "type"); known {
		return kind
	}
	user, assistant := bytes.Index(line, quotedUser), bytes.Index(line, quotedAssistant)
	switch {
	case user >= 0 && (assistant < 0 || user < assistant):
		return nameOf(quotedUser)
	case bytes.Contains(line, quotedInformational):
		return []byte("system")
	case assistant >= 0:
		return nameOf(quotedAssistant)
	default:
		return nil
	}
}

func nameOf(quoted []byte) []byte { return bytes.Trim(quoted, `"`) }
