package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// hooked is an agent whose settings have our hooks beside the user's own: it tells the
// daemon by itself, still calls what the user had, and has its settings back afterwards.
var hooked = situation{"with hooks", func(t *testing.T, b *box, row *result) {
	settings := map[string]string{"claude-code": ".claude/settings.json", "codex": ".codex/config.toml"}[b.kit.agent]
	b.program("own", `echo called >> "$HOME/called"`)
	b.program("stub/systemctl", `[ "$1" != --version ] || echo "systemd 257"`) // this machine may have none that answers
	b.extra = append(b.extra, "PATH="+strings.Join([]string{b.path("stub"), b.bin, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	if b.kit.agent == "codex" {
		b.write(settings, "notify = [\""+b.path("own")+"\"]\n"+b.read(settings))
	} else {
		b.change(".claude.json", `"autoUpdates":false,`, "") // Claude Code would move it into the settings, and write those anew
		b.set("hooks", map[string]any{"SessionEnd": []any{map[string]any{
			"hooks": []any{map[string]any{"type": "command", "command": b.path("own")}},
		}}})
	}
	before := b.read(settings)
	_, err := b.ask("install", "--hooks", "--yes")
	require.NoError(t, err)
	require.NotEqual(t, before, b.read(settings))

	limited := b.kit.exec[0].answer
	row.provider = string(limited.Kind())
	b.start(b.config())
	b.provider.Script(b.step("one"), limited)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	agent := b.begin(prompt)
	s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
	agent.wait(t)
	row.said = saw(s)
	b.finished(s, b.refused(), 1, once)
	b.until("the agent has called", func() bool {
		return strings.Contains(b.log.String(), `msg="a hook asks for a look" agent=`+b.kit.agent+" session="+s.ID)
	})
	b.until("the user's own is called too", func() bool { return b.read("called") != "" })

	_, err = b.ask("uninstall")
	require.NoError(t, err)
	require.Equal(t, before, b.read(settings), "byte for byte")
	row.did, row.outcome = "was told by the agent, and continued it once", "finished, settings as before"
}}

// hookedEarly is a session with hooks that lived and died before there was a daemon: its hooks have recorded
// what it was started with.
var hookedEarly = situation{"with hooks, and before there was a daemon", func(t *testing.T, b *box, row *result) {
	b.program("stub/systemctl", `[ "$1" != --version ] || echo "systemd 257"`)
	b.extra = append(b.extra, "PATH="+strings.Join([]string{b.path("stub"), b.bin, os.Getenv("PATH")}, string(filepath.ListSeparator)))
	_, err := b.ask("install", "--hooks", "--yes")
	require.NoError(t, err)
	limited := b.kit.exec[0].answer
	row.provider = string(limited.Kind())
	b.provider.Script(b.step("one"), limited)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("I may not."))
	b.ours(nil, "claude", "--disallowedTools", "Bash(echo:*)", "-p", prompt).wait(t)
	require.Empty(t, b.done(), "it was refused before the limit")
	b.start(b.config())
	row.said = saw(b.untilState(resume.Waiting, resume.Resuming, resume.Settling))
	b.until("it was continued", func() bool { return resumes(b) == 1 })
	b.mustStayQuiet(b.calm(), 1)
	require.Positive(t, furtherRequests(b), "the model asked for it again")
	require.Empty(t, b.done(), "and was refused after the resume")
	row.did, row.outcome = "continued once with what its hooks have recorded", "refused again"
}}

// program writes a script.
func (b *box) program(name, script string) {
	b.t.Helper()
	b.write(name, "#!/bin/sh\n"+script+"\n")
	require.NoError(b.t, os.Chmod(b.path(name), 0o755))
}

// read returns a file of the box, or "".
func (b *box) read(name string) string {
	data, err := os.ReadFile(b.path(name))
	if !os.IsNotExist(err) {
		require.NoError(b.t, err)
	}
	return string(data)
}
