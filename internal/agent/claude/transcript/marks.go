package transcript

import (
	"strings"

	"resumed/internal/agent"
)

// interrupted begins what stands for a person's key that broke a turn off.
const interrupted = "[Request interrupted by user"

// Within a JSON string a quote is escaped, so these stand only where the
// record itself has them. Nothing is assumed about spaces between them.
var (
	quotedAssistant     = []byte(`"assistant"`)
	quotedUser          = []byte(`"user"`)
	quotedInformational = []byte(`"informational"`)
	typeOf              = agent.FieldOf("type")
	cwdOf               = agent.FieldOf("cwd")

	toolUseID       = agent.MarkBy(`"tool_use_id"`, '_')
	endTurn         = agent.MarkBy(`_turn"`, '_')
	informational   = agent.MarkBy(`"informational"`, 'm')
	noteName        = agent.MarkBy(`LimitNote`, 'L') // of usageLimitNote
	apiErrorMessage = agent.MarkBy(`ApiErrorMessage`, 'A')
	interruption    = agent.MarkBy(strings.TrimPrefix(interrupted, "["), 'R')
)
