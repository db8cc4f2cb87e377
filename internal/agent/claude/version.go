package claude

import (
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
)

var versionName = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionOf returns the version of an installed claude, or nothing where its
// place does not tell. The program is not run for it.
func versionOf(program string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	// The native installer names the program after its version; npm leaves the
	// package's description beside it, or below what only calls it.
	if name := filepath.Base(target); versionName.MatchString(name) {
		return name
	}
	for _, dir := range []string{
		filepath.Dir(target),
		filepath.Join(filepath.Dir(target), ".."),
		filepath.Join(filepath.Dir(target), "node_modules", "@anthropic-ai", "claude-code"),
	} {
		var p struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		}
		known := agent.ReadJSON(filepath.Join(dir, "package.json"), &p)
		if known && strings.HasPrefix(p.Name, "@anthropic-ai/claude-code") && versionName.MatchString(p.Version) {
			return p.Version
		}
	}
	return ""
}

// forksSessions reports whether that version continues a session under a new
// id, in a new file. What comes of it could not be seen, and it would be sent
// again.
func forksSessions(version string) bool {
	return strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "1.")
}
