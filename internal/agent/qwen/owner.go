package qwen

import (
	"context"
	"path/filepath"
	"strings"

	"resumed/internal/resume"
)

// Owner returns the live process that may hold the session. Qwen Code takes no
// lock: who lives in the session's directory may hold any session of it.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	return a.Processes.Neighbour(ctx, s, isProgram, "-p", "--prompt")
}

// isProgram reports whether the path is that of Qwen Code: as it is called, or
// as it is packed.
func isProgram(path string) bool {
	switch filepath.Base(path) {
	case "qwen":
		return true
	case "cli.js", "index.js":
		return strings.Contains(path, "qwen-code")
	}
	return false
}
