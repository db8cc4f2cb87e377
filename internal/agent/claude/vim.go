package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// editsAsVim reports whether a process with that home, in that directory, has
// vim's keys. Its screen says so in INSERT only.
func (a *Agent) editsAsVim(home, dir string) bool {
	config := filepath.Join(home, ".claude.json") // it lies in a home that was moved,
	if home == filepath.Join(a.UserDir, ".claude") {
		config = filepath.Join(a.UserDir, ".claude.json") // and beside the usual one
	}
	for _, path := range []string{ // who is obeyed comes first
		"/etc/claude-code/managed-settings.json",
		filepath.Join(dir, ".claude", "settings.local.json"),
		filepath.Join(dir, ".claude", "settings.json"),
		filepath.Join(home, "settings.json"),
		config,
	} {
		var file struct {
			EditorMode string `json:"editorMode"`
		}
		data, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(data, &file) == nil && file.EditorMode != "" {
			return file.EditorMode == "vim"
		}
	}
	return false
}
