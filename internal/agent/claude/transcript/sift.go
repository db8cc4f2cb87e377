package transcript

import (
	"bytes"
	"strings"

	"resumed/internal/agent"
)

// Sift passes over bookkeeping and over tool results, which are most of a
// transcript's bytes.
func Sift(line []byte) agent.Weight {
	switch string(recordType(line)) {
	case "user":
		if !bytes.Contains(line, toolUseID) {
			return agent.Matters
		}
		// A person's stop, and a note of the limit, may be beside the result of a tool.
		if bytes.Contains(line, interruption) || bytes.Contains(line, noteName) {
			return agent.Matters
		}
	case "assistant":
		if bytes.Contains(line, apiErrorMessage) || bytes.Contains(line, endTurn) {
			return agent.Matters // the end of a turn may be one that a limit brought about
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
func recordType(line []byte) []byte {
	if kind, known := agent.TextAtEnds(line, "type"); known {
		return kind
	}
	user, assistant := bytes.Index(line, quotedUser), bytes.Index(line, quotedAssistant)
	switch {
	case user >= 0 && (assistant < 0 || user < assistant):
		return []byte("user")
	case bytes.Contains(line, quotedInformational):
		return []byte("system")
	case assistant >= 0:
		return []byte("assistant")
	default:
		return nil
	}
}

// interrupted begins the record of a person's key that broke a turn off.
const interrupted = "[Request interrupted by user"

// Within a JSON string a quote is escaped, so these occur only where the
// record itself has them. Nothing is assumed about spaces between them.
var (
	quotedAssistant     = []byte(`"assistant"`)
	quotedUser          = []byte(`"user"`)
	quotedInformational = []byte(`"informational"`)

	toolUseID       = []byte(`"tool_use_id"`)
	endTurn         = []byte(`_turn"`)
	noteName        = []byte(`LimitNote`) // of usageLimitNote
	apiErrorMessage = []byte(`ApiErrorMessage`)
	interruption    = []byte(strings.TrimPrefix(interrupted, "["))
)
