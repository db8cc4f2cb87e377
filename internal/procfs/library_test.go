package procfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child starts a process that has a file open, in a directory and under a name with
// blanks in them.
func child(t *testing.T, dir, file string, flag int) int {
	opened, err := os.OpenFile(file, flag, 0)
	require.NoError(t, err)
	defer opened.Close()
	cmd := exec.Command(filepath.Join(dir, "a bot"), "600")
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, []string{"A=1 2", "RESUMED_TEST=m1"}, []*os.File{opened}
	cmd.Args[0] = "./a bot"
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// made returns a directory with a program in it that lives for some minutes, and a
// file.
func made(t *testing.T) (dir, file string) {
	dir = filepath.Join(t.TempDir(), "a directory")
	require.NoError(t, os.Mkdir(dir, 0o700))
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	data, err := os.ReadFile(sleep)
	require.NoError(t, err)
	write := exec.Command("sh", "-c", `cat > "$0" && chmod +x "$0"`, filepath.Join(dir, "a bot"))
	stdin, err := write.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, write.Start())
	_, err = stdin.Write(data)
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.NoError(t, write.Wait())
	// What was written after a process began is not what it runs.
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a bot"), old, old))
	file = filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	return dir, file
}

// The library, which is used on macOS, must return the same as /proc: the same calls run here.
func TestTheLibraryTellsWhatTheKernelTells(t *testing.T) {
	dir, file := made(t)
	pid := child(t, dir, file, os.O_RDONLY)
	began := time.Now()

	all, err := Library.List(t.Context())
	require.NoError(t, err)
	at := slices.IndexFunc(all, func(l Listed) bool { return l.PID == pid })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, []string{"./a bot", "600"}, all[at].Argv, "where one argument ends")
	environ, err := Library.Environ(pid)
	require.NoError(t, err)
	require.Equal(t, "1 2", Variable(environ, "A"))
	require.Equal(t, "m1", Library.Variable(pid, "RESUMED_TEST"))
	having, err := Library.Having(t.Context(), "RESUMED_TEST")
	require.NoError(t, err)
	require.Equal(t, "m1", having[pid])
	require.NotContains(t, having, os.Getpid())
	place, err := Library.Where(pid)
	require.NoError(t, err)
	require.Equal(t, dir, place)
	require.Equal(t, dir, Library.Cwd(pid))
	require.Equal(t, filepath.Join(dir, "a bot"), Library.Executable(pid))
	require.True(t, Library.Own(pid))
	require.True(t, Library.Readable())
	require.False(t, Library.HasProc())
	s, err := Library.Stat(pid)
	require.NoError(t, err)
	require.True(t, s.Living())
	require.Equal(t, os.Getpid(), s.Parent)
	again, err := Library.Stat(pid)
	require.NoError(t, err)
	require.Equal(t, s, again)
	age, known := Library.Age(pid)
	require.True(t, known)
	require.Less(t, age, time.Since(began)+10*time.Second)
	require.Greater(t, age, -10*time.Second)
	apart, err := Library.Apart(pid)
	require.NoError(t, err)
	require.Empty(t, apart)

	if Proc.HasProc() { // compare both
		kernel, err := Proc.Stat(pid)
		require.NoError(t, err)
		require.Equal(t, []int{kernel.Parent, kernel.Group}, []int{s.Parent, s.Group})
		require.Equal(t, Proc.Argv(pid), all[at].Argv)
		theirs, err := Proc.Environ(pid)
		require.NoError(t, err)
		require.Equal(t, slices.DeleteFunc(theirs, func(v string) bool { return v == "" }), slices.DeleteFunc(environ, func(v string) bool { return v == "" }))
		require.Equal(t, Proc.Executable(pid), Library.Executable(pid))
	}
}

func TestTheLibraryKnowsWhoHasEnded(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool {
		s, err := Library.Stat(pid)
		return err == nil && !s.Living()
	}, 10*time.Second, 10*time.Millisecond, "nobody has reaped it")
	require.Error(t, cmd.Wait())
	_, err := Library.Stat(pid)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Library.Environ(pid)
	require.ErrorIs(t, err, os.ErrNotExist)
	place, err := Library.Where(pid)
	require.NoError(t, err)
	require.Empty(t, place)
	require.Empty(t, Library.Argv(pid))
	require.Empty(t, Library.Executable(pid))
	require.False(t, Library.Own(pid))
	_, known := Library.Age(pid)
	require.False(t, known)
}

// A program that was replaced after the start of a process is not the one that it runs.
func TestTheLibraryDoesNotTakeANewFileForWhatRuns(t *testing.T) {
	dir, file := made(t)
	pid := child(t, dir, file, os.O_RDONLY)
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a bot"), later, later))
	require.Empty(t, Library.Executable(pid))
}

// Without /proc, lsof must return the same files.
func TestLsofTellsWhatTheKernelTells(t *testing.T) {
	if _, err := exec.LookPath("lsof"); err != nil {
		t.Skip("SKIPPED: there is no lsof, which is asked where there is no /proc")
	}
	dir, file := made(t)
	writes, reads := child(t, dir, file, os.O_WRONLY|os.O_APPEND), child(t, dir, file, os.O_RDONLY)
	users, writers, err := usersByLsof(t.Context(), file)
	require.NoError(t, err)
	require.ElementsMatch(t, []int{writes, reads}, users)
	require.Equal(t, []int{writes}, writers)
	writers, err = Library.WritersByLsof(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, []int{writes}, writers)
	lockers, err := Library.Lockers(file)
	require.NoError(t, err)
	require.ElementsMatch(t, []int{writes, reads}, lockers)
	open, err := Library.Open(reads)
	require.NoError(t, err)
	require.Contains(t, open, File{Name: file})
	require.NoError(t, os.WriteFile(file+"-alone", nil, 0o600))
	users, _, err = usersByLsof(t.Context(), file+"-alone")
	require.NoError(t, err)
	require.Empty(t, users)
}

func TestWhatNobodyTellsIsNotKnown(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := usersByLsof(t.Context(), "/etc/passwd")
	require.ErrorIs(t, err, ErrUnseen)
	_, err = Library.Open(os.Getpid())
	require.ErrorIs(t, err, ErrUnseen)
	if runtime.GOOS != "linux" {
		return
	}
	// The library reads /proc on Linux: if that is not ours, the library is not used.
	_, err = Proc.pidsByLibrary(t.Context())
	require.ErrorIs(t, err, ErrUnseen)
	_, err = Proc.cwdByLibrary(os.Getpid())
	require.ErrorIs(t, err, ErrUnseen)
	_, err = Proc.environByLibrary(os.Getpid())
	require.ErrorIs(t, err, ErrUnseen)
	_, err = Proc.statByLibrary(os.Getpid())
	require.ErrorIs(t, err, ErrUnseen)
	require.Empty(t, Proc.argvByLibrary(os.Getpid()))
	require.Empty(t, Proc.exeByLibrary(os.Getpid()))
	place, err := Proc.cwdByLibrary(1 << 30)
	require.NoError(t, err, "there is no such process")
	require.Empty(t, place)
}
