package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/agents"
)

// tellPlugins prints how to add the plugin to the agents that are installed and do not have it.
func (i Installer) tellPlugins() {
	for _, h := range findOldHooks() {
		fmt.Fprintf(i.Out, "\n%s still calls resumed by what an earlier release wrote into %s. The plugin replaces it:\n  resumed uninstall --hooks\n", h.title, h.path)
	}
	cfg, err := i.Config()
	if err != nil {
		return
	}
	made, err := agents.MakeAll(cfg)
	if err != nil {
		return
	}
	var lines strings.Builder
	dir := pluginDir()
	for _, b := range agents.Builtin() {
		if b.Plugin == nil || b.Plugin.Version() != "" {
			continue
		}
		if _, missing := made[b.Name].Program(); missing != nil {
			continue
		}
		fmt.Fprintf(&lines, "  %s", strings.ReplaceAll(b.Plugin.Install, "DIR", dir))
		if b.Plugin.Then != "" {
			fmt.Fprintf(&lines, "    # then %s", b.Plugin.Then)
		}
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return
	}
	where := ""
	if dir == unknownDir {
		where = "; DIR is a clone of the repository"
	}
	fmt.Fprintf(i.Out, "\nWith the plugin, your agents report to the daemon at once (docs/plugin.md%s):\n%s", where, lines.String())
}

const unknownDir = "DIR"

// pluginDir returns a directory with the plugins: a clone of the repository that this program is run in,
// or the one of a package or an archive.
func pluginDir() string {
	here, _ := os.Getwd()
	program, _ := os.Executable()
	bin := filepath.Dir(program)
	for _, dir := range []string{here, bin, filepath.Join(filepath.Dir(bin), "share", "resumed")} {
		if exists(filepath.Join(dir, ".claude-plugin", "marketplace.json")) && exists(filepath.Join(dir, "plugins", "resumed")) {
			return dir
		}
	}
	return unknownDir
}
