// Package transcript reads the transcripts of Claude Code: what a line means, the settings and the
// cost of a session, and whether it continues by itself.
package transcript

import (
	"bytes"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Reader interprets lines of transcripts. Only LimitsAt must be set.
type Reader struct {
	// LimitsAt returns a reader for limits that were stated at that time.
	LimitsAt func(time.Time) limit.Reader

	notes lines.Latest[string] // of the current turns
}

// Match accepts PROJECT/SESSION.jsonl. Subagents write in deeper directories, and in 2.0 beside their
// session as agent-ID.jsonl.
func Match(rel string) bool {
	is, _ := filepath.Match("*/*.jsonl", rel) // errs on a bad pattern only
	return is && !strings.HasPrefix(filepath.Base(rel), "agent-")
}

// apps are the editors and desktop apps that run Claude Code for a person, by its entrypoint.
var apps = map[string]string{
	"claude-vscode": "VS Code", "claude-desktop": "Claude Desktop", "claude-desktop-3p": "Claude Desktop", "local-agent": "Claude Desktop",
}

// AppBy returns the editor or desktop app that runs a session, by its entrypoint; "": none, or not
// known.
func AppBy(entrypoint string) string { return apps[entrypoint] }

// KindBy returns whether a session is headless or interactive, by its entrypoint; "": not known, as
// both people's programs and scripts use the SDK. The kind in the registry is interactive for -p too.
func KindBy(entrypoint string) string {
	switch {
	case entrypoint == "cli" || AppBy(entrypoint) != "":
		return resume.Interactive
	case entrypoint == "sdk-cli":
		return resume.Headless
	default:
		return ""
	}
}

// Sift skips bookkeeping and the results of tools, which are most of a transcript's bytes.
func Sift(line []byte) agent.Weight {
	switch string(recordType(line)) {
	case "user":
		if !bytes.Contains(line, toolUseID) {
			return agent.Matters
		}
		// An interruption, or a note about the limit, may be in the same record as the result of a tool.
		if bytes.Contains(line, interruption) || bytes.Contains(line, noteName) {
			return agent.Matters
		}
	case "assistant":
		if bytes.Contains(line, apiErrorMessage) || bytes.Contains(line, endTurn) {
			return agent.Matters // a turn may have ended because of a limit
		}
		return agent.Moves
	case "system":
		if bytes.Contains(line, quotedInformational) {
			return agent.Matters
		}
	}
	return agent.Nothing
}

// recordType returns the type of a record, if it is one that matters. If the type is not near the
// ends of the line, the whole line is searched: the role comes before the content, so the first of
// the two roles in the line is that of the message.
func recordType(line []byte) []byte {
	if kind, known := lines.TextAtEnds(line, "type"); known {
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

// interrupted begins the text that records an interruption by a person.
const interrupted = "[Request interrupted by user"

// Quotes within a JSON string are escaped, so these occur only as parts of the record itself. They
// contain no colon: nothing is assumed about spaces around it.
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
