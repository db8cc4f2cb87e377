package transcript

import "strings"

// interrupted begins what stands for a person's key that broke a turn off.
const interrupted = "[Request interrupted by user"

// Within a JSON string a quote is escaped, so these stand only where the
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
