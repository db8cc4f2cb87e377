package claude

import (
	"encoding/json"
	"path/filepath"

	"resumed/internal/agent"
)

// editsAsVim reports whether a process with that home, in that directory, has
// vim's keys. Its screen says so in INSERT only.
func (a *Agent) editsAsVim(home, dir string) bool {
	for _, path := range []string{ // who is obeyed comes first
		"/etc/claude-code/managed-settings.json",
		filepath.Join(dir, ".claude", "settings.local.json"),
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(home, "settings.json"),
		a.ConfigFile(home),
	} {
		var file struct {
			EditorMode string `json:"editorMode"`
		}
		data, err := agent.ReadSettings(path)
		if err == nil && json.Unmarshal(data, &file) == nil && file.EditorMode != "" {
			return file.EditorMode == "vim"
		}
	}
	return false
}
