package procfs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where there is no /proc, ps and lsof must tell the same.
func TestOtherProgramsTellWhatTheKernelTells(t *testing.T) {
	for _, name := range []string{"ps", "lsof"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s, which is asked where there is no /proc", name)
		}
	}
	if !Proc.Seen() {
		t.Skip("SKIPPED: this system has no /proc to compare with")
	}
	dir := filepath.Join(t.TempDir(), "a directory")
	require.NoError(t, os.Mkdir(dir, 0o700))
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	program, file := filepath.Join(dir, "bot"), filepath.Join(dir, "file")
	require.NoError(t, os.Symlink(sleep, program))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	child := func(flag int) int {
		opened, err := os.OpenFile(file, flag, 0)
		require.NoError(t, err)
		defer opened.Close()
		cmd := exec.Command(program, "600")
		cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, []string{"A=1", "RESUMED_TEST=m1"}, []*os.File{opened}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	writes, reads := child(os.O_WRONLY|os.O_APPEND), child(os.O_RDONLY)

	all, err := listByPS(t.Context(), "-ax", "-ww")
	require.NoError(t, err)
	at := slices.IndexFunc(all, func(l listed) bool { return l.pid == writes })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, Proc.Argv(writes), words(all[at].command))
	require.Equal(t, Proc.Argv(writes), argvByPS(writes))
	environ, err := environByPS(writes)
	require.NoError(t, err)
	require.Equal(t, "m1", variable(environ, "RESUMED_TEST"))
	having, err := havingByPS(t.Context(), "RESUMED_TEST")
	require.NoError(t, err)
	require.Equal(t, "m1", having[writes])
	require.NotContains(t, having, os.Getpid())
	place, err := cwdByLsof(writes)
	require.NoError(t, err)
	require.Equal(t, Proc.Cwd(writes), place)
	users, writers, err := usersByLsof(t.Context(), file)
	require.NoError(t, err)
	require.ElementsMatch(t, []int{writes, reads}, users)
	require.Equal(t, []int{writes}, writers)
	require.NoError(t, os.WriteFile(file+"-alone", nil, 0o600))
	users, _, err = usersByLsof(t.Context(), file+"-alone")
	require.NoError(t, err)
	require.Empty(t, users)
}

func TestWhatOtherProgramsDoNotTellIsNotKnown(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := listByPS(t.Context(), "-ax")
	require.ErrorIs(t, err, ErrUnseen)
	_, err = havingByPS(context.Background(), "A")
	require.ErrorIs(t, err, ErrUnseen)
	_, err = cwdByLsof(os.Getpid())
	require.ErrorIs(t, err, ErrUnseen)
	place, err := cwdByLsof(1 << 30)
	require.NoError(t, err, "there is no such process")
	require.Empty(t, place)
	_, _, err = usersByLsof(t.Context(), "/etc/passwd")
	require.ErrorIs(t, err, ErrUnseen)
}
