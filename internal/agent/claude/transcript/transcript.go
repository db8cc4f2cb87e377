// Package transcript reads the transcripts of Claude Code: what a line means, the settings and the
// cost of a session, and whether it continues by itself.
package transcript

import (
	"path/filepath"
	"strings"
	"time"

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

// KindBy returns whether a session is headless or interactive, by its entrypoint; "": not known, as
// both editors and scripts use the SDK. The kind in the registry is interactive for -p too.
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
