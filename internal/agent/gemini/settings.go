package gemini

import (
	"cmp"
	"path/filepath"

	"resumed/internal/agent"
)

// modes are ordered by what they allow without asking, least first.
var modes = []string{"plan", "default", "auto_edit", "yolo"}

// settingsFiles leave out the rules that Gemini CLI writes itself when its user always allows something.
var settingsFiles = func() *agent.SettingsFiles {
	home := func(variable func(string) string) string {
		return filepath.Join(cmp.Or(variable(homeVariable), variable("HOME")), homeName)
	}
	files := agent.ApprovalSettings(homeName, "/etc/gemini-cli", home, []string{"policies/*.toml"},
		"tools", "mcp", "mcpServers", "hooks", "hooksConfig", "security", "policyPaths", "adminPolicyPaths", "admin", "experimental")
	files.Modes, files.Asking = modes, modes[:len(modes)-1]
	files.Usual, files.All = "default", []string{"-y", "--yolo"}
	return &files
}()
