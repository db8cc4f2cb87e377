package main

import (
	"os/exec"
	"strings"
	"testing"

	"resumed/internal/doctor"

	"github.com/stretchr/testify/require"
)

// works starts a process that looks like an agent's.
func (b *box) works(program string, vars ...string) {
	b.t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Args[0] = program
	cmd.Dir, cmd.Env = b.home, append(b.env(), vars...)
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func TestAHomeThatNobodyLooksAtIsTold(t *testing.T) {
	b := newBox(t)
	b.write(".codex/sessions/README", "")
	b.works("codex", "CODEX_HOME="+b.path("work", "codex"))
	b.works("codex", "CODEX_HOME="+b.path("work", "codex")) // reported once
	b.works("codex", "CODEX_HOME="+b.path(".codex"))
	b.works("claude", "CLAUDE_CONFIG_DIR=work/claude")
	b.works("claude", "CLAUDE_CONFIG_DIR="+b.path("elsewhere"), "HOME=/nowhere") // not relevant here
	b.start()
	b.until("it is in the log", func() bool {
		return strings.Contains(b.logged(), b.path("work", "claude")) && strings.Contains(b.logged(), b.path("work", "codex"))
	})
	require.Equal(t, 2, strings.Count(b.logged(), "an agent works in a home that is not watched"), b.logged())

	said, code := b.examined()
	require.Zero(t, code, said)
	require.Equal(t, doctor.Warn, said["agent codex"].Status)
	require.Contains(t, said["agent codex"].Text, "CODEX_HOME="+b.path("work", "codex")+", which is not watched")
	require.Equal(t, `roots = ["`+b.path(".codex")+`", "`+b.path("work", "codex")+`"] in its [[agent]] entry`, said["agent codex"].Fix)
	require.Contains(t, said["agent claude-code"].Text, "CLAUDE_CONFIG_DIR="+b.path("work", "claude"))

	b.write(configFile, "[[agent]]\nname = \"codex\"\nroots = [\""+b.path(".codex")+"\", \""+b.path("work", "codex")+"\"]\n")
	said, _ = b.examined()
	require.NotContains(t, said["agent codex"].Text, "is not watched")
}
