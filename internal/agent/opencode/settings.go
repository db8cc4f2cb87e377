package opencode

import (
	"cmp"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// settingsFiles are the configuration files, and those of its agents. No flag of a run gives less than they allow: if
// they allow or forbid something else than at the start, a person is asked.
func (b *brand) settingsFiles() *agent.SettingsFiles {
	return &agent.SettingsFiles{
		Paths: func(o resume.Origin, variable func(string) string) []string {
			own := []string{filepath.Join(cmp.Or(variable("XDG_CONFIG_HOME"), filepath.Join(variable("HOME"), ".config")), b.program)}
			if named := variable(b.variable("CONFIG_DIR")); named != "" {
				own = append(own, named)
			}
			var dirs []string
			for dir := o.Cwd; len(dir) > 1; dir = filepath.Dir(dir) {
				dirs = append(dirs, dir)
				for _, name := range b.project {
					own = append(own, filepath.Join(dir, name))
				}
			}
			paths := b.configsIn(slices.Concat(dirs, own)...)
			for _, dir := range own {
				found, _ := filepath.Glob(filepath.Join(dir, "agent*", "*.md")) // errs on a directory with a bad pattern only
				paths = append(paths, found...)
			}
			if named := variable(b.variable("CONFIG")); named != "" {
				paths = append(paths, named)
			}
			return paths
		},
		Read: func(path string, text []byte) (mode string, rules any) {
			if filepath.Ext(path) == ".md" {
				return "", string(text)
			}
			return "", agent.PartsOf(text, "permission", "tools", "agent", "mode", "default_agent", "plugin", "mcp")
		},
	}
}
