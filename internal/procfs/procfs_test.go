package procfs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/procfs"
)

func TestTheKernelTellsOfAProcess(t *testing.T) {
	if !procfs.Proc.HasProc() {
		t.Skip("SKIPPED: this system has no /proc, so that processes cannot be read")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	// A name that looks like the end of the name field.
	odd := filepath.Join(dir, "a) Z 1 (b")
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(sleep, odd))
	opened, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer opened.Close()
	cmd := exec.CommandContext(t.Context(), odd, "60")
	cmd.Dir, cmd.Env, cmd.Stdout = dir, []string{"A=1", "AB=2", "B="}, opened
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid

	pids, err := procfs.Proc.PIDs()
	require.NoError(t, err)
	require.Contains(t, pids, pid)
	require.Eventually(t, func() bool { return procfs.Proc.Argv(pid) != nil }, time.Minute, time.Millisecond, "they are told once it has begun")
	require.Equal(t, []string{odd, "60"}, procfs.Proc.Argv(pid))
	require.Equal(t, "2", procfs.Proc.Variable(pid, "AB"))
	require.Empty(t, procfs.Proc.Variable(pid, "B"))
	require.Empty(t, procfs.Proc.Variable(pid, "C"))
	require.Equal(t, dir, procfs.Proc.Cwd(pid))
	open, err := procfs.Proc.Open(pid)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(open, func(f procfs.File) bool { return f.Name == file }), open)
	require.True(t, procfs.Proc.Writes(pid, file))
	require.False(t, procfs.Proc.Writes(pid, file+"x"))
	stat, err := procfs.Proc.Stat(pid)
	require.NoError(t, err)
	require.True(t, stat.Living())
	require.Equal(t, os.Getpid(), stat.Parent)
	age, known := procfs.Proc.Age(pid)
	require.True(t, known)
	require.Less(t, age, time.Minute)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, err = procfs.Proc.Stat(pid)
	require.Error(t, err)
	open, err = procfs.Proc.Open(pid)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestWithoutAKernelThatTellsNothingIsKnown(t *testing.T) {
	none := procfs.FS(filepath.Join(t.TempDir(), "none"))
	require.False(t, none.HasProc())
	_, err := none.PIDs()
	require.ErrorIs(t, err, procfs.ErrUnseen)
	_, err = none.List(t.Context())
	require.ErrorIs(t, err, procfs.ErrUnseen)
	_, err = none.Having(t.Context(), "A")
	require.ErrorIs(t, err, procfs.ErrUnseen)
	require.Empty(t, none.Argv(1))
	_, known := none.Age(1)
	require.False(t, known)
}

func TestAnEmptyArgumentIsOneToo(t *testing.T) {
	for cmdline, want := range map[string][]string{
		"claude\x00--tools\x00\x00":             {"claude", "--tools", ""},
		"claude\x00-p\x00\x00\x00":              {"claude", "-p", "", ""},
		"claude\x00--tools\x00\x00--resume\x00": {"claude", "--tools", "", "--resume"},
		"claude\x00--tools":                     {"claude", "--tools"},
		// A process overwrites its arguments with a title, and the rest of the space is empty.
		"claude\x00\x00\x00\x00\x00": {"claude"},
	} {
		proc := procfs.FS(t.TempDir())
		require.NoError(t, os.Mkdir(proc.Path(7), 0o700))
		require.NoError(t, os.WriteFile(proc.Path(7, "cmdline"), []byte(cmdline), 0o600))
		require.Equal(t, want, proc.Argv(7))
	}
}
