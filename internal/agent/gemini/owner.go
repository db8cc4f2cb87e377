package gemini

import (
	"context"
	"path/filepath"
	"strings"

	"resumed/internal/resume"
)

// Owner returns the live process that may hold the session. Gemini CLI takes no
// lock and keeps no file open, and an interactive one may change sessions: who
// lives in the project's root may hold any of its sessions.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	return a.Processes.Neighbour(ctx, s, isProgram, "-p", "--prompt")
}

// isProgram reports whether the path is that of Gemini CLI: as it is called, as
// it is bundled, or as older versions were put together.
func isProgram(path string) bool {
	switch filepath.Base(path) {
	case "gemini", "gemini.js":
		return true
	case "index.js":
		return strings.Contains(path, "gemini-cli")
	}
	return false
}
