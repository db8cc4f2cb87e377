package claude

import (
	"path/filepath"
	"regexp"
	"strings"

	"resumed/internal/agent"
)

var versionName = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versionOf returns the version of an installed claude, or "" if its path does not tell. It does
// not run the program.
func versionOf(program string) string {
	target, err := filepath.EvalSymlinks(program)
	if err != nil || program == "" {
		return ""
	}
	// The native installer names the program after its version; npm puts a package.json beside
	// the program, or below its wrapper.
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

// forkingVersion returns the version of an installed claude if it continues a session under a new
// id, in a new file, else "". The result could not be observed, and the prompt would be sent again.
func forkingVersion(program string) string {
	version := versionOf(program)
	if strings.HasPrefix(version, "0.") || strings.HasPrefix(version, "1.") {
		return version
	}
	return ""
}
