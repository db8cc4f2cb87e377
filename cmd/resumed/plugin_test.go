package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/buildinfo"
	"resumed/internal/resume"
)

// pluginTree is the repository, from where agents install the plugin.
const pluginTree = "../.."

// Every manifest can be parsed and has the version of the program, so that agents notice an update.
func TestTheManifestsOfThePlugin(t *testing.T) {
	t.Parallel()
	count := 0
	for _, dir := range []string{".claude-plugin", "plugins"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(pluginTree, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".json" {
				return err
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			var manifest any
			require.NoError(t, json.Unmarshal(data, &manifest), path)
			for _, version := range regexp.MustCompile(`"version": "([^"]*)"`).FindAllSubmatch(data, -1) {
				require.Equal(t, buildinfo.Newest, string(version[1]), path)
				count++
			}
			return nil
		}))
	}
	require.Equal(t, 5, count)
	script, err := os.ReadFile(filepath.Join(pluginTree, "plugins/opencode/resumed.js"))
	require.NoError(t, err)
	require.Contains(t, string(script), "const VERSION = \""+buildinfo.Newest+"\"\n")
	readme, err := os.ReadFile(filepath.Join(pluginTree, "plugins/resumed/README.md"))
	require.NoError(t, err)
	require.Greater(t, len(strings.Fields(string(readme))), 40, "or the directory of Claude Code refuses it")
}

// The model of an agent never calls the plugin's commands by itself, and they let it run nothing but what only looks.
func TestOnlyAPersonCallsTheCommandsOfThePlugin(t *testing.T) {
	t.Parallel()
	for pattern, words := range map[string]string{
		"commands/*.md": "\ndisable-model-invocation: true\n", "qwen/resumed/*.md": "\ndisable-model-invocation: true\n", "codex/*/agents/openai.yaml": "\n  allow_implicit_invocation: false ",
	} {
		files, err := filepath.Glob(filepath.Join(pluginTree, "plugins/resumed", pattern))
		require.NoError(t, err)
		require.Len(t, files, 3)
		for _, path := range files {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), words, path)
		}
	}
	files := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(pluginTree, "plugins"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".json" || !strings.Contains(path, "commands") && !strings.Contains(path, "qwen") {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, runs := range regexp.MustCompile("(?m)^allowed-tools: (.*)$|!`(.*)`|!{(.*)}").FindAllStringSubmatch(string(text), -1) {
			require.Regexp(t, `^(Bash\()?resumed (status|queue)\)?$`, strings.Join(runs[1:], ""), path)
		}
		return err
	}))
	require.Equal(t, 9, files)
}

// Patterns of goreleaser leave out names that begin with a dot: the archive names each file.
func TestTheArchiveHasEveryFileOfThePlugins(t *testing.T) {
	t.Parallel()
	archive, err := os.ReadFile(filepath.Join(pluginTree, "packaging/goreleaser.yaml"))
	require.NoError(t, err)
	for _, dir := range []string{".claude-plugin", "plugins"} {
		require.NoError(t, fs.WalkDir(os.DirFS(pluginTree), dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				require.Contains(t, string(archive), "- {src: "+path+", dst: "+path+", ")
			}
			return err
		}))
	}
}

// hookCommands returns the commands in the hooks files of the plugin, by file and event.
func hookCommands(t *testing.T) map[string]string {
	commands := make(map[string]string)
	for _, name := range []string{"resumed", "gemini"} {
		data, err := os.ReadFile(filepath.Join(pluginTree, "plugins", name, "hooks/hooks.json"))
		require.NoError(t, err)
		var file struct {
			Hooks map[string][]struct {
				Hooks []struct{ Type, Command string }
			}
		}
		require.NoError(t, json.Unmarshal(data, &file))
		for event, groups := range file.Hooks {
			for _, group := range groups {
				for _, hook := range group.Hooks {
					require.Equal(t, "command", hook.Type)
					commands[name+" "+event] = hook.Command
				}
			}
		}
	}
	require.Len(t, commands, 8)
	return commands
}

// Where resumed is missing, the hooks do nothing, in every shell that agents use.
func TestThePluginDoesNothingWithoutResumed(t *testing.T) {
	b := newBox(t)
	for name, command := range hookCommands(t) {
		for _, shell := range []string{"sh", "bash", "zsh", "fish"} {
			path, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			cmd := exec.Command(path, "-c", command)
			cmd.Env, cmd.Dir = []string{"HOME=" + b.home, "PATH=/usr/bin:/bin"}, b.home
			cmd.Stdin = strings.NewReader(`{"session_id":"s"}`)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, name)
			require.Empty(t, string(out), name)
		}
	}
}

// The hooks find a program that is in no PATH but where install copies it to.
func TestThePluginCallsTheInstalledProgram(t *testing.T) {
	b := newBox(t)
	require.NoError(t, os.MkdirAll(b.path(".local/bin"), 0o755))
	require.NoError(t, os.Symlink(b.binary, b.path(".local/bin/resumed")))
	for name, command := range hookCommands(t) {
		for agent, variables := range map[string][]string{"qwen-code": nil, "codex": {"PLUGIN_ROOT=/x", "CLAUDE_PLUGIN_ROOT=/x"}} {
			if strings.HasPrefix(name, "gemini") {
				agent = "gemini"
			}
			require.NoError(t, os.RemoveAll(b.path("runtime")))
			cmd := exec.Command("sh", "-c", command)
			cmd.Env, cmd.Dir = append([]string{"HOME=" + b.home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + b.path("runtime")}, variables...), b.home
			cmd.Stdin = strings.NewReader(`{"session_id":"s"}`)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, name)
			require.Empty(t, string(out), name)
			require.FileExists(t, b.path("runtime/resumed/called", agent), name)
		}
	}
}

// A permission that a session asks for, and that nobody gives, needs a person, also if that person gave
// the prompt.
func TestAHookReportsThatAPermissionWaits(t *testing.T) {
	b, hook := newBox(t), newHook(t)
	b.write(".config/resumed/resumed.toml", "[notify]\ngroup_wait = \"0s\"\n[[notify.webhook]]\nname = \"ops\"\nurl = \""+hook.URL+"\"\n")
	b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work"))
	b.start()
	b.until("the session is known", func() bool {
		status, err := b.daemon.Status(t.Context(), true)
		return err == nil && len(status.Sessions) == 1
	})
	say := func(event, more string) {
		out, errOut, code := b.runWith(fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"hook_event_name":%q%s}`,
			claudeSession, b.path(claudeTranscript), event, more), "hook", "claude-code")
		require.Empty(t, out+errOut)
		require.Zero(t, code)
	}
	const waits = `,"notification_type":"permission_prompt","message":"Claude needs your permission"`
	asks := func() {
		say("Notification", waits)
		s := b.untilState(claudeSession, resume.Parked)
		require.Equal(t, "permission", *s.Needs)
	}
	asks()
	out, _, _ := b.run("status")
	require.Contains(t, out, "asks for permission")
	b.until("the notice is sent", func() bool {
		for _, notice := range hook.got() {
			if notice.Event == "parked" && strings.Contains(notice.Text, "Answer it in its terminal") {
				return true
			}
		}
		return false
	})
	over := func() bool {
		status, err := b.daemon.Status(t.Context(), false)
		return err == nil && len(status.Sessions) == 0
	}
	b.appendTo(claudeTranscript, answerLine(claudeSession, b.path("src"), "done"))
	b.until("a record ends it", over)
	asks()
	say("SessionEnd", "")
	b.until("and so does the next hook", over)

	say("Notification", waits)
	say("SessionEnd", "")
	asks()
	reported := func() int { return strings.Count(b.logged(), "parked: needs a person") }
	b.until("the last one is logged", func() bool { return reported() >= 3 })
	require.Equal(t, 3, reported(), "what was answered within seconds is not reported")
}

func TestDoctorSaysWhetherThePluginIsThereAndCalls(t *testing.T) {
	b := newBox(t)
	b.write(claudeTranscript, promptLine(claudeSession, b.path("src"), "work"))
	said, _ := b.examined()
	require.Contains(t, said["plugin claude-code"].Text, "not installed")
	require.NotContains(t, said, "plugin codex", "it is not here")

	b.write(".claude/plugins/installed_plugins.json", `{"version":2,"plugins":{"resumed@resumed":[{"scope":"user","version":"0.1.7"}]}}`)
	b.write(".codex/plugins/cache/resumed/resumed/0.1.8/.claude-plugin/plugin.json", `{"name":"resumed","version":"0.1.8"}`)
	b.write(".qwen/extensions/resumed/qwen-extension.json", `{"name":"resumed","version":"0.1.9"}`)
	b.write(".gemini/extensions/resumed/gemini-extension.json", `{"name":"resumed","version":"0.1.10"}`)
	b.write(".copilot/settings.json", `{"extraKnownMarketplaces":{"resumed":{"source":{"source":"directory","path":"`+b.path("clone")+`"}}},"enabledPlugins":{"resumed@resumed":true}}`)
	b.write("clone/plugins/resumed/.claude-plugin/plugin.json", `{"name":"resumed","version":"0.1.11"}`)
	for _, dir := range []string{".codex/sessions", ".qwen/projects", ".gemini/tmp", ".copilot/session-state"} {
		require.NoError(t, os.MkdirAll(b.path(dir), 0o755))
	}
	b.runWith(`{"session_id":"s","hook_event_name":"SessionStart"}`, "hook", "claude-code")
	said, _ = b.examined()
	require.Regexp(t, `^version 0\.1\.7, last called (?:\d+[dhms] ?)+ ago$`, said["plugin claude-code"].Text)
	require.Equal(t, "version 0.1.8, has not called since you logged in: trust the hooks when Codex asks, or in /hooks", said["plugin codex"].Text)
	for agent, version := range map[string]string{"qwen-code": "0.1.9", "gemini": "0.1.10", "copilot": "0.1.11"} {
		require.Equal(t, "version "+version+", has not called since you logged in", said["plugin "+agent].Text)
	}
}

func TestInstallSaysHowToAddThePlugin(t *testing.T) {
	b := newBox(t)
	b.withSystemctl("257")
	for _, name := range []string{"claude", "codex"} {
		b.write("bin/"+name, "#!/bin/sh\n")
	}
	out, errOut, code := b.run("install")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "DIR is a clone of the repository")
	require.Contains(t, out, "\n  claude plugin install resumed --marketplace DIR\n")
	require.Contains(t, out, "codex plugin add resumed@resumed    # then trust the hooks")
	require.NotContains(t, out, "gemini")

	require.NoError(t, os.CopyFS(b.path(".local/share/resumed"), os.DirFS(pluginTreeOnly(t)))) // as in a package
	require.NoError(t, os.Rename(b.path("bin/codex"), b.path("gone")))
	out, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "codex")
	b.write(".claude/plugins/installed_plugins.json", `{"version":2,"plugins":{"resumed@resumed":[{"scope":"user","version":"0.1.7"}]}}`)
	out, errOut, code = b.run("install")
	require.Zero(t, code, errOut)
	require.NotContains(t, out, "plugin", "it is there")
}

// pluginTreeOnly returns a copy of the part of the repository that agents install the plugin from.
func pluginTreeOnly(t *testing.T) string {
	dir := t.TempDir()
	for _, part := range []string{".claude-plugin", "plugins"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(pluginTree, part))))
	}
	return dir
}

// A hook costs an agent little. The bound is for a slow and busy machine; see docs/performance.md for
// what was measured.
func TestAHookIsQuick(t *testing.T) {
	b := newBox(t)
	quickest := time.Hour
	for range 10 {
		cmd := exec.Command(b.binary, "hook", "claude-code")
		cmd.Env, cmd.Dir = b.env(), b.home
		cmd.Stdin = strings.NewReader(`{"session_id":"s","hook_event_name":"SessionStart"}`)
		require.NoError(t, cmd.Run())
		quickest = min(quickest, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	require.Less(t, quickest, 100*time.Millisecond)
}
