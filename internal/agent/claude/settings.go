package claude

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

// settingsFiles are the files that give a session its mode if no flag does, and its rules. While it lives, Claude Code
// takes over what they allow: so only what they forbid is compared, and the mode, which is read when it starts.
var settingsFiles = &agent.SettingsFiles{
	Paths: func(o resume.Origin, variable func(string) string) []string {
		line := startup.Flags.Parse(o.Args)
		if line.Has(ignoring...) {
			return nil
		}
		var paths []string
		for _, dir := range []string{cmp.Or(variable(startup.HomeVariable), filepath.Join(variable("HOME"), ".claude")), filepath.Join(o.Cwd, ".claude")} {
			paths = append(paths, filepath.Join(dir, "settings.json"), filepath.Join(dir, "settings.local.json"))
		}
		paths = append(paths, startup.Flags.Parse(startup.Flags.Carry(o).Args).Values("--settings")...)
		return append(append(paths, managed), more(managed)...)
	},
	Read: func(_ string, text []byte) (mode string, rules any) {
		var set struct {
			Permissions struct {
				DefaultMode string `json:"defaultMode"`
			} `json:"permissions"`
		}
		_ = json.Unmarshal(text, &set) // a file that cannot be read sets nothing
		return set.Permissions.DefaultMode, agent.PartsOf(text, "permissions.deny", "permissions.ask", "permissions.disableBypassPermissionsMode",
			"permissions.disableAutoMode", "hooks", "disableAllHooks", "sandbox", "deniedMcpServers", "allowedMcpServers", "disabledMcpjsonServers")
	},
	Modes: permissionModes,
}

const managed = "/etc/claude-code/managed-settings.json"

// more returns the files that add to the managed settings.
func more(managed string) []string {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(managed), "managed-settings.d", "*.json")) // errs on a bad pattern only
	return files
}

// ignoring are the flags with which some settings are not read.
var ignoring = []string{"--setting-sources", "--bare", "--safe-mode", "--restricted"}
