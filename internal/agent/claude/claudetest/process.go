package claudetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/process"
	"resumed/internal/procfs"
)

// Process is one directory of a fake /proc.
type Process struct {
	PID   int
	Argv  []string
	Cwd   string
	Env   []string
	Start string
	State string
}

// Processes returns a fake /proc with these processes.
func Processes(t *testing.T, all ...Process) process.Table {
	root := t.TempDir()
	for _, p := range all {
		dir := filepath.Join(root, fmt.Sprint(p.PID))
		require.NoError(t, os.Mkdir(dir, 0o700))
		state := p.State
		if state == "" {
			state = "S"
		}
		stat := fmt.Sprintf("%d (cla) ude) %s%s %s 0 0\n", p.PID, state, strings.Repeat(" 1", 18), p.Start)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.Join(p.Argv, "\x00")+"\x00"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(strings.Join(p.Env, "\x00")+"\x00"), 0o600))
		if p.Cwd != "" {
			require.NoError(t, os.Symlink(p.Cwd, filepath.Join(dir, "cwd")))
		}
	}
	return process.At(procfs.FS(root))
}

// Register writes a file into the session registry of a home.
func Register(t *testing.T, home, file, content string) {
	dir := filepath.Join(home, "sessions")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
}

// Registered is the content of a process's registry file.
func Registered(pid int, session, start, more string) string {
	return fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/src/app","procStart":%q,"kind":"interactive"%s}`, pid, session, start, more)
}
