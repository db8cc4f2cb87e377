package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// asEditor runs Claude Code as its extension for VS Code does: the program is driven by messages on
// its standard input, which stays open.
const asEditor = `{ printf '%s\n' "$1"; sleep 600; } | CLAUDE_CODE_ENTRYPOINT=claude-vscode exec "$2" \
	--input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio`

var inEditor = situation{"live in an editor", func(t *testing.T, b *box, row *result) {
	row.provider = string(agenttest.KindOverloaded)
	b.start(b.config())
	b.provider.Script(b.step("one"), agenttest.Overloaded())
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	message := `{"type":"user","message":{"role":"user","content":"` + prompt + `"}}`
	editor := b.launch("sh", "-c", asEditor, "sh", message, filepath.Join(b.bin, b.kit.program))
	s := b.untilState(resume.Waiting, resume.Resuming)
	row.said = saw(s)
	b.until("the daemon says where it is open", func() bool {
		s, _ := b.session()
		return s.State == resume.Waiting && s.App == "VS Code" && s.Owner != nil && strings.Contains(s.Unreached, "open in VS Code: continue there")
	})
	before := b.refused()
	b.mustStayQuiet(before, 0)
	require.NoError(t, syscall.Kill(-editor.cmd.Process.Pid, syscall.SIGKILL), "the editor is closed")
	editor.wait(t)
	b.finished(s, before, 1, once)
	left, _ := b.session()
	require.Equal(t, "VS Code", left.App, "a resume does not change where its user works")
	row.did, row.outcome = "told a person, and continued once, when the editor was closed", "finished"
}}
