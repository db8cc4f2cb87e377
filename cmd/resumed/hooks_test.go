package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	claudeSettings = ".claude/settings.json"
	codexSettings  = ".codex/config.toml"
	ownSettings    = "{\n    \"env\": {\"TOKEN\": \"secret\"}, // mine\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n    }\n}"
	ownConfig      = "# mine\nmodel = \"gpt\"\nnotify = [\"mine\", \"two words\"]\n\n[tui]\ntheme = \"x\"\n"
)

// withAgents installs agents with settings in the box.
func (b *box) withAgents(version string) {
	b.withSystemctl("257")
	b.write("bin/claude", "#!/bin/sh\necho '"+version+" (Claude Code)'\n")
	b.write(claudeSettings, ownSettings)
	b.write(codexSettings, ownConfig)
	require.NoError(b.t, os.Chmod(b.path(claudeSettings), 0o640))
}

func TestHooksComeAndGoWithoutATrace(t *testing.T) {
	b := newBox(t)
	b.withAgents("2.1.325")
	require.NoError(t, os.Rename(b.path(codexSettings), b.path("dotfile")))
	require.NoError(t, os.Symlink(b.path("dotfile"), b.path(codexSettings)))
	before := b.tree()
	unchanged := func() {
		require.Equal(t, ownSettings, b.read(claudeSettings))
		require.Equal(t, ownConfig, b.read(codexSettings))
		require.Equal(t, before, b.tree())
	}

	out, errOut, code := b.run("install", "--hooks", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "+ notify = [\""+b.path(copyPath)+"\", \"hook\", \"codex\", \"--\", \"mine\", \"two words\"]\n")
	require.Contains(t, out, "- notify = [\"mine\", \"two words\"]\n")
	unchanged()
	_, errOut, code = b.run("install", "--hooks")
	require.Equal(t, exitFailed, code, "nobody was there to say yes")
	require.Contains(t, errOut, "resumed install --hooks --yes")
	unchanged()

	_, errOut, code = b.run("install", "--hooks", "--yes")
	require.Zero(t, code, errOut)
	with := b.read(claudeSettings)
	for _, event := range []string{"StopFailure", "SessionEnd", "Notification"} {
		require.Contains(t, with, `"`+event+`": [{"hooks": [{"type": "command", "command": "`+b.path(copyPath)+` hook claude-code", "timeout": 5}]}]`)
	}
	info, err := os.Lstat(b.path(claudeSettings))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	info, err = os.Lstat(b.path(codexSettings))
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	kept := b.path(".local/state/resumed/hooks/claude-code.before")
	info, err = os.Stat(kept)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "there are secrets in it")
	out, _, _ = b.run("doctor")
	require.Contains(t, out, "Claude Code calls "+b.path(copyPath))
	require.Contains(t, out, "Codex calls "+b.path(copyPath))

	out, errOut, code = b.run("install", "--hooks")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "Claude Code calls resumed already")
	require.Equal(t, with, b.read(claudeSettings))

	out, errOut, code = b.run("uninstall", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "# change "+b.path(claudeSettings))
	require.Equal(t, with, b.read(claudeSettings))
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	unchanged()
	out, _, _ = b.run("uninstall")
	require.Contains(t, out, "Nothing is installed")
}

// Hooks work with a daemon however it was started: they do not fail without a service manager.
func TestHooksNeedNoServiceManager(t *testing.T) {
	b := newBox(t)
	b.withAgents("2.1.325")
	b.vars = append(b.vars, "PATH=/nowhere")
	before := b.tree()
	_, errOut, code := b.run("install", "--hooks", "--dry-run")
	require.Zero(t, code, errOut)
	require.Equal(t, before, b.tree())

	out, errOut, code := b.run("install", "--hooks", "--yes")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "wrote "+b.path(claudeSettings))
	require.Contains(t, errOut, "No service was installed: install needs systemd")
	require.Contains(t, errOut, "tmux new-session -d -s resumed '"+b.path(copyPath)+" run'", "what to do now")
	require.True(t, isResumed(b.path(copyPath)), "what the hooks call is there")

	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Equal(t, before, b.tree())
}

func TestHooksGoAloneAndTheServiceStays(t *testing.T) {
	b := newBox(t)
	b.withAgents("2.1.325")
	_, errOut, code := b.run("install", "--hooks", "--yes")
	require.Zero(t, code, errOut)
	service := b.read(dropInPath)

	out, errOut, code := b.run("uninstall", "--hooks", "--dry-run")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "# change "+b.path(claudeSettings))
	require.NotEqual(t, ownSettings, b.read(claudeSettings))
	_, errOut, code = b.run("uninstall", "--hooks", "--purge")
	require.Equal(t, exitUsage, code, errOut)

	_, errOut, code = b.run("uninstall", "--hooks")
	require.Zero(t, code, errOut)
	require.Equal(t, ownSettings, b.read(claudeSettings))
	require.Equal(t, ownConfig, b.read(codexSettings))
	require.Equal(t, service, b.read(dropInPath))
	require.FileExists(t, b.path(copyPath))
	require.NotContains(t, b.read("orders"), "disable")
	out, errOut, code = b.run("uninstall", "--hooks")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "there are no hooks to remove")
}

func TestWhatAPersonChangedBetweenHooksStays(t *testing.T) {
	b := newBox(t)
	b.withAgents("2.1.325")
	require.NoError(t, os.Remove(b.path(codexSettings)))
	_, errOut, code := b.run("install", "--hooks", "--yes")
	require.Zero(t, code, errOut)
	edit := func(text string) string { return strings.Replace(text, `"secret"`, `"another", "NEW": "1"`, 1) }
	b.write(claudeSettings, edit(b.read(claudeSettings)))
	b.appendTo(codexSettings, "model = \"gpt\"\n")
	_, errOut, code = b.run("install", "--hooks") // and there is nothing to do
	require.Zero(t, code, errOut)
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Equal(t, edit(ownSettings), b.read(claudeSettings))
	require.Equal(t, "model = \"gpt\"\n", b.read(codexSettings))
}

func TestSettingsThatWereNotThereAreGoneAgain(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	b.vars = append(b.vars, "CLAUDE_CONFIG_DIR="+b.path("claude home"), "CODEX_HOME="+b.path("codex home"))
	require.NoError(t, os.Mkdir(b.path("claude home"), 0o755))
	require.NoError(t, os.Mkdir(b.path("codex home"), 0o755))
	before := b.tree()
	_, errOut, code := b.run("install", "--hooks", "--yes")
	require.Zero(t, code, errOut)
	require.Contains(t, b.read("codex home/config.toml"), `"hook", "codex"]`)
	require.Contains(t, b.read("claude home/settings.json"), "SessionEnd")
	require.NotContains(t, b.read("claude home/settings.json"), "StopFailure", "an old Claude Code would take nothing from the file")
	_, errOut, code = b.run("uninstall")
	require.Zero(t, code, errOut)
	require.Equal(t, before, b.tree())
}

func TestBrokenSettingsOfAnAgentAreLeftAlone(t *testing.T) {
	b := newBox(t)
	b.withAgents("2.1.325")
	before := b.tree()
	for path, text := range map[string]string{claudeSettings: "{\"a\": }", codexSettings: "a = 1\n[x\ny = 2\n"} {
		b.write(path, text)
		_, errOut, code := b.run("install", "--hooks", "--yes")
		require.Equal(t, exitFailed, code)
		require.Contains(t, errOut, b.path(path)+" stays as it is: it is not valid")
		require.Equal(t, text, b.read(path))
		require.Equal(t, before, b.tree(), "nothing at all was done")
		b.write(claudeSettings, ownSettings)
		b.write(codexSettings, ownConfig)
	}
}
