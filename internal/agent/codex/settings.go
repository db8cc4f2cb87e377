package codex

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// settingsFiles are the configurations that give a session its sandbox if no flag does. What else of them matters is
// in every turn, but for what a permission profile means, and which commands run without the sandbox.
var settingsFiles = &agent.SettingsFiles{
	Paths: func(o resume.Origin, variable func(string) string) []string {
		home := cmp.Or(variable(homeVariable), filepath.Join(variable("HOME"), ".codex"))
		return configurationFiles(o.Cwd, home)
	},
	Read: func(_ string, text []byte) (mode string, rules any) {
		if strings.Contains(string(text), fullAccess) {
			mode = fullAccess
		}
		return mode, profilesIn(string(text))
	},
	Modes: sandboxes,
}

// configurationFiles returns the configurations of some homes and of a directory.
func configurationFiles(dir string, homes ...string) []string {
	files := []string{"/etc/codex/config.toml"}
	for _, home := range homes {
		files = append(files, filepath.Join(home, "config.toml"))
		profiles, _ := filepath.Glob(filepath.Join(home, "*.config.toml")) // errs on a bad pattern only
		files = append(files, profiles...)
	}
	if dir != "" {
		files = append(files, filepath.Join(dir, ".codex", "config.toml"))
	}
	return files
}

// profilesIn returns the lines that say what permission profiles mean.
func profilesIn(text string) (found []string) {
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if header := aTable().FindStringSubmatch(line); header != nil {
			table = header[1] + "."
		}
		setting := aSetting().FindStringSubmatch(line)
		if strings.HasPrefix(table, "permissions.") || setting != nil && strings.HasPrefix(table+setting[1], "permissions.") {
			found = append(found, line)
		}
	}
	return slices.Clip(found)
}
