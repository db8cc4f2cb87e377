package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Statements of docs/files.md and docs/commands.md that a program can check.
func TestWhatTheDocumentsStateAboutFilesAndExitCodes(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.start()
	b.write("bot/logs/aaa-1.log", "step 1\nrate limited, retry in 107m\n")
	b.untilState("aaa-1", resume.Waiting)

	for path, mode := range map[string]os.FileMode{
		".local/state/resumed": 0o700, ".local/state/resumed/resumed.db": 0o600,
		"runtime/resumed": 0o700,
	} {
		info, err := os.Stat(b.path(path))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), "only you can read %s", path)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitNoSession, "no such session", []string{"status", "nobody"}},
		{exitUsage, "needs either sessions", []string{"retry"}},
		{exitUsage, "wait until", []string{"retry", "aaa-1"}},
		{exitFailed, "a daemon is running", []string{"uninstall", "--purge", "--yes"}},
		{exitFailed, "resumed status, or stop the other one first", []string{"run"}},
		{75, "", []string{"usage", "--wait", "mybot:default", "--timeout", "10ms"}},
		{7, "", []string{"exec", "--", "sh", "-c", "exit 7"}},
	} {
		_, errOut, code := b.run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errOut)
		require.Contains(t, errOut, c.says, c.args)
	}
	out, _, _ := b.run("doctor")
	require.Contains(t, out, "kept ", "doctor shows how much is kept, and for how long")
	out, _, _ = b.run("uninstall", "--purge", "--dry-run")
	require.Contains(t, out, b.path(".local/state/resumed"))
}
