package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agents"
	"resumed/internal/agenttest"
	"resumed/internal/buildinfo"
	"resumed/internal/control"
	"resumed/internal/doctor"
	"resumed/internal/resume"
)

// removals are the agents' own commands that remove the plugin.
var removals = map[string]string{
	"claude-code": "claude plugin uninstall resumed@resumed",
	"codex":       "codex plugin remove resumed@resumed",
	"copilot":     "copilot plugin uninstall resumed@resumed",
	"qwen-code":   "qwen extensions uninstall resumed",
	"gemini":      "gemini extensions uninstall resumed",
	"opencode":    "rm ~/.config/opencode/plugin/resumed.js",
	"kilo":        "rm ~/.config/kilo/plugin/resumed.js",
}

// consents are what a person would answer the agent while it installs a plugin.
var consents = map[string]string{"qwen-code": " --consent", "gemini": " --consent"}

// plugged is an agent with the plugin, installed and removed by the agent's own commands: its hooks call
// the daemon.
var plugged = situation{"with the plugin", func(t *testing.T, b *box, row *result) {
	require.Contains(t, b.plugin(), "not installed")
	b.plug()
	require.Contains(t, b.plugin(), "version "+buildinfo.Newest+", has not called")

	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.Text("All done."))
	b.plugged().wait(t)
	b.until("the agent has called", func() bool {
		return strings.Contains(b.log.String(), `msg="a hook asks for a look" agent=`+b.kit.agent+" session=")
	})
	require.Contains(t, b.plugin(), "last called")
	out, err := b.ask("status", "--all", "--json")
	require.NoError(t, err)
	var status control.Status
	require.NoError(t, json.Unmarshal(out, &status))
	require.Len(t, status.Sessions, 1)
	require.True(t, status.Sessions[0].Started.Seen, "the hook told how it was started")

	b.asTyped(removals[b.kit.agent])
	require.Contains(t, b.plugin(), "not installed")
	row.did, row.outcome = "was told by the agent", "removed again"
}}

// asksWithPlugin is a session that asks for a permission that its own user must give: only the plugin
// reports that.
var asksWithPlugin = situation{"with the plugin, and a permission waits", func(t *testing.T, b *box, row *result) {
	switch b.kit.agent {
	case "claude-code":
		b.kit.ask(b)
		b.kit.talk = func(prompt string) []string { return []string{"claude", "--permission-mode", "default", prompt} }
	case "copilot":
		b.kit.talk = func(prompt string) []string { return []string{"copilot", "-i", prompt} }
	case "gemini":
		b.change(".gemini/settings.json", `"run_shell_command"`, ``)
	case "qwen-code":
		b.change(".qwen/settings.json", `"yolo"`, `"default"`)
	default:
		b.kit.ask(b)
	}
	b.plug()
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.Text("All done."))
	p := b.talk(prompt)
	s := b.untilState(resume.Parked)
	require.Equal(t, "permission", *s.Needs, s.Reason)
	if b.kit.agent != "qwen-code" { // whose notice only names the tool
		require.Contains(t, s.Reason, "one", "what it asks for")
	}
	row.said = s.Reason
	require.Empty(t, b.done(), "nothing was allowed")
	p.press("Enter")
	b.until("it is done", func() bool { return b.done() == "one" })
	b.until("it is over", func() bool { _, listed := b.session(); return !listed })
	row.did, row.outcome = "told a person, and pressed no key", "finished after the answer"
}}

// plug installs the plugin as a person does, and resumed where its hooks find it.
func (b *box) plug() {
	b.t.Helper()
	repository, err := filepath.Abs("..")
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(b.path(".local", "bin"), 0o755))
	require.NoError(b.t, os.Symlink(daemon, b.path(".local", "bin", "resumed")))
	for _, built := range agents.Builtin() {
		if built.Name == b.kit.agent {
			b.asTyped(strings.ReplaceAll(built.Plugin.Install, "DIR", repository) + consents[b.kit.agent])
		}
	}
}

// pluggedEarly is a session with the plugin that lived and died before there was a daemon: its hooks have
// recorded what it was started with.
var pluggedEarly = situation{"with the plugin, and before there was a daemon", func(t *testing.T, b *box, row *result) {
	b.plug()
	limited := b.kit.exec[0].answer
	row.provider = string(limited.Kind())
	b.provider.Script(b.step("one"), limited)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("I may not."))
	b.ours(nil, "claude", "--disallowedTools", "Bash(echo:*)", "-p", prompt).wait(t)
	require.Empty(t, b.done(), "it was refused before the limit")
	b.start(b.config())
	row.said = saw(b.untilState(resume.Waiting, resume.Resuming, resume.Settling))
	b.until("it was continued", func() bool { return resumes(b) == 1 })
	b.untilState(resume.Watching, resume.Parked)
	b.mustStayQuiet(b.calm(), 1)
	require.Positive(t, furtherRequests(b), "the model asked for it again")
	require.Empty(t, b.done(), "and was refused after the resume")
	row.did, row.outcome = "continued once with what its hooks have recorded", "refused again"
}}

// pluggedBefore is the same in other agents.
var pluggedBefore = situation{pluggedEarly.name, func(t *testing.T, b *box, row *result) {
	b.plug()
	limited := b.kit.exec[0].answer
	row.provider = string(limited.Kind())
	b.provider.Script(b.step("one"), limited)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	b.plugged().wait(t)
	before := b.refused()
	b.start(b.config())
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
	row.said = saw(s)
	b.finished(s, before, 1, once)
	require.True(t, b.latestSession().Started.Seen)
	row.did, row.outcome = "continued once with what its hooks have recorded", "finished"
}}

// pluginCommands are the plugin's commands, as a person gives them: the model reads what resumed printed.
var pluginCommands = situation{"with the plugin, and its commands", func(t *testing.T, b *box, row *result) {
	if b.kit.agent == "claude-code" { // which asks for nothing that the command itself allows
		b.kit.ask(b)
	}
	b.plug()
	b.extra = append(b.extra, "PATH="+b.path(".local", "bin")+string(filepath.ListSeparator)+b.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	b.start(b.config())
	for command, printed := range map[string]string{
		"/resumed:status":               "No session is interrupted.",
		"/resumed:retry no-such":        "resumed retry no-such", // for a person to run
		"/resumed:queue":                "Nothing is queued.",
		"/resumed:queue mend the fence": "mend the fence",
	} {
		b.provider.Script(agenttest.Text("All done."))
		argv := b.kit.begin(command)
		b.launch(append([]string{filepath.Join(b.bin, argv[0])}, argv[1:]...)...).wait(t)
		requests := b.provider.Requests()
		require.NotEmpty(t, requests, command)
		require.Contains(t, strings.Join(requests[len(requests)-1].Prompts, "\n"), printed, command)
	}
	row.did, row.outcome = "answered the commands", "read by the model"
}}

// plugged starts the agent with its plugin.
func (b *box) plugged() *run {
	b.t.Helper()
	argv := b.kit.begin(prompt)
	if b.kit.agent == "codex" { // a person trusts the hooks in its terminal
		argv = slices.Insert(argv, 2, "--dangerously-bypass-hook-trust")
	}
	return b.launch(append([]string{filepath.Join(b.bin, argv[0])}, argv[1:]...)...)
}

// asTyped runs a line as a person types it.
func (b *box) asTyped(line string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env, cmd.Dir = b.env(), b.work
	out, err := cmd.CombinedOutput()
	require.NoError(b.t, err, "%s\n%s", line, out)
}

// plugin returns what the doctor says about the plugin in the agent.
func (b *box) plugin() string {
	b.t.Helper()
	out, _ := b.ask("doctor", "--json") // other checks may fail here
	var said struct{ Checks []doctor.Check }
	require.NoError(b.t, json.Unmarshal(out, &said), string(out))
	for _, check := range said.Checks {
		if check.Name == "plugin "+b.kit.agent {
			return check.Text
		}
	}
	b.t.Fatalf("nothing is said about the plugin: %s", out)
	return ""
}
