// Package transcript reads what Claude Code writes of its sessions: what a line of a
// transcript means, what a session ran with and has cost, and whether it goes on by itself.
package transcript

import (
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader says what lines of transcripts mean.
type Reader struct {
	// LimitsAt returns what understands a refusal that was told at that time.
	LimitsAt func(time.Time) limit.Reader

	notes agent.Latest[string] // the note of the turn under way
}

// Match accepts PROJECT/SESSION.jsonl. Subagents write deeper, and in
// 2.0 beside their session as agent-ID.jsonl: neither is a session.
func Match(rel string) bool {
	is, _ := filepath.Match("*/*.jsonl", rel) // errs on a bad pattern only
	return is && !strings.HasPrefix(filepath.Base(rel), "agent-")
}

// KindBy says by the way in which Claude Code was entered whether a person sits
// before it, or nothing: programs that speak through a kit of its own are editors
// as well as scripts. What the registry calls kind is interactive for -p too.
func KindBy(entrypoint string) string {
	switch entrypoint {
	case "cli":
		return resume.Interactive
	case "sdk-cli":
		return resume.Headless
	default:
		return ""
	}
}
