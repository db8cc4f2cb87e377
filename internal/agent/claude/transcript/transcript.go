// Package transcript reads the transcripts of Claude Code: what a line means, the settings and the
// cost of a session, and whether it continues by itself.
package transcript

import (
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// Reader interprets lines of transcripts. Only LimitsAt must be set.
type Reader struct {
	// LimitsAt returns a reader for limits that were stated at that time.
	LimitsAt func(time.Time) limit.Reader

	notes agent.Latest[string] // of the current turns
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
