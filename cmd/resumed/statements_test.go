package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Statements of docs/files.md, commands.md, exec.md and queue.md that a program can check.
func TestWhatTheDocumentsStateAboutFilesAndExitCodes(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+"start = [\"true\", \"{session}\", \"{prompt}\"]\n[http]\nlisten = \"127.0.0.1:0\"\n")
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
	documented, err := os.ReadFile("../../docs/files.md")
	require.NoError(t, err)
	entries, err := os.ReadDir(b.path(".local/state/resumed"))
	require.NoError(t, err)
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), "-") // resumed.db-wal is a part of resumed.db
		require.Contains(t, string(documented), name, "files.md says what is in the state directory")
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
		{126, "start the command", []string{"exec", "--", b.path(configFile)}},
		{127, "there is no program", []string{"exec", "--", "no-such-program"}},
		{128 + 9, "", []string{"exec", "--", "sh", "-c", "kill -9 $$"}},
		{exitFailed, "no such file or session", []string{"explain", "nobody"}},
	} {
		_, errOut, code := b.run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errOut)
		require.Contains(t, errOut, c.says, c.args)
	}
	b.write("open/file", "")
	require.NoError(t, os.Chmod(b.path("open"), 0o777))
	out, errOut, code := b.run("queue", "add", "--json", "--agent", "mybot", "--dir", b.path("open"), "--", "x")
	require.Zero(t, code, errOut)
	var added struct{ Tasks []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(out), &added), out)
	_, errOut, code = b.run("retry", "--now", added.Tasks[0].ID)
	require.Zero(t, code, errOut)
	b.until("a task in a directory that others can write to is not started", func() bool {
		tasks, _, _ := b.run("queue")
		return strings.Contains(tasks, "failed") && strings.Contains(tasks, "can be written by everybody")
	})
	out, _, _ = b.run("doctor")
	require.Contains(t, out, "kept ", "doctor shows how much is kept, and for how long")
	out, _, _ = b.run("uninstall", "--purge", "--dry-run")
	require.Contains(t, out, b.path(".local/state/resumed"))
}
