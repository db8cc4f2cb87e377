package qwen

import (
	"cmp"
	"path/filepath"

	"resumed/internal/agent"
)

// modes are ordered by what they allow without asking, least first.
var modes = []string{"plan", "default", "auto-edit", "auto", "yolo"}

// settingsFiles leave out permissions.allow, which Qwen Code writes itself when its user always allows something.
var settingsFiles = func() *agent.SettingsFiles {
	home := func(variable func(string) string) string {
		return cmp.Or(variable("QWEN_HOME"), filepath.Join(variable("HOME"), ".qwen"))
	}
	files := agent.ApprovalSettings(".qwen", "/etc/qwen-code", home, nil,
		"permissions.deny", "permissions.ask", "tools.core", "tools.exclude", "tools.sandbox", "hooks", "disableAllHooks", "mcp", "mcpServers", "security")
	files.Modes, files.Asking = modes, modes[:len(modes)-1]
	files.Usual, files.All = "default", []string{"-y", "--yolo"}
	return &files
}()
