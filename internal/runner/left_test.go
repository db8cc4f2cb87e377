package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// However a command ends, its status file says the same as its exit status, and the keeper
// adds nothing to its output.
func TestWhatACommandLeavesTellsHowItEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   int
		err    string
		said   string
	}{
		"it ends well":              {"echo done", 0, "", "done\n"},
		"it fails":                  {"echo no luck >&2; exit 3", 3, "exit status 3", "no luck\n"},
		"a signal ends it":          {"kill -9 $$", -1, "signal: killed", ""},
		"its arguments are its own": {`printf '%s|' "$@"`, 0, "", "a b|$HOME|'|"},
		"its group is told to end":  {"trap 'exit 7' TERM; kill -TERM 0; sleep 600 & wait", 7, "exit status 7", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := Command{
				Argv: []string{"sh", "-c", c.script, "script", "a b", "$HOME", "'"}, Dir: dir,
				Output: filepath.Join(dir, "1.log"), Status: filepath.Join(dir, "1.exit"),
			}
			process, err := Start(cmd)
			require.NoError(t, err)
			result := process.Wait(soon(t))
			left := ReadStatusFile(cmd.Status)
			require.True(t, left.Began)
			require.True(t, left.Ended)
			if c.code >= 0 {
				require.Equal(t, c.code, left.Code)
			}
			for _, r := range []Result{result, left.Result()} {
				require.True(t, r.Known)
				if c.err == "" {
					require.NoError(t, r.Err)
				} else {
					require.EqualError(t, r.Err, c.err)
				}
			}
			said, err := os.ReadFile(cmd.Output)
			require.NoError(t, err)
			if c.said != "" {
				require.Equal(t, c.said, string(said))
			}
		})
	}
}

// A command that started and did not end was cut off by a power cut or by SIGKILL.
func TestWhatACommandLeavesWithoutItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := Command{Argv: []string{"sleep", "600"}, Dir: dir, Status: filepath.Join(dir, "1.exit")}
	require.Equal(t, StatusFile{}, ReadStatusFile(cmd.Status), "nothing was begun")
	process, err := Start(cmd)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(-process.PID, syscall.SIGKILL))
	process.Wait(t.Context())
	left := ReadStatusFile(cmd.Status)
	require.False(t, left.Ended)
	require.False(t, left.Result().Known)
	require.NoError(t, left.Result().Err, "nobody can tell")
}

// If the status file cannot be written, the command is not started.
func TestACommandThatCannotLeaveAnythingIsNotRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := Command{Argv: []string{"touch", "touched"}, Dir: dir, Status: filepath.Join(dir, "none", "1.exit")}
	_, err := Start(cmd)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, filepath.Join(dir, "touched"))
}

// If the keeper did not replace the daemon's text, the command was not started, as long as the
// machine has not restarted. After a power cut it may have run: the keeper's text may be
// lost.
func TestACommandThatWasOnlyAnnouncedWasNotBegunUnlessTheMachineWentDown(t *testing.T) {
	t.Parallel()
	status := filepath.Join(t.TempDir(), "1.exit")
	require.NoError(t, announce(status))
	require.Equal(t, StatusFile{Announced: true}, ReadStatusFile(status))
	info, err := os.Stat(status)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	for what, text := range map[string]string{"another boot": about + "another\n", "an emptied file": "", "half of it": about[:3]} {
		require.NoError(t, os.WriteFile(status, []byte(text), 0o600))
		require.Equal(t, StatusFile{Began: true}, ReadStatusFile(status), what)
	}
}

// No other user can read the file, whatever the umask.
func TestWhatACommandLeavesIsItsOwners(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := Command{Argv: []string{"true"}, Dir: dir, Status: filepath.Join(dir, "1.exit")}
	process, err := Start(cmd)
	require.NoError(t, err)
	require.NoError(t, process.Wait(t.Context()).Err)
	info, err := os.Stat(cmd.Status)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

// A shell sets the limits of the command; the program itself takes its place only where there is none.
func TestAShellKeepsTheStatusWhereThereIsOne(t *testing.T) {
	t.Parallel()
	program, argv := kept("/bin/agent", []string{"agent", "-p", "a b"}, "/s/1.exit", resume.ProcessLimits{Umask: "0027"})
	require.Equal(t, shell, program)
	require.Equal(t, []string{shell, "-c", "umask 0027\n" + keeper, "/s/1.exit", "/bin/agent", "-p", "a b"}, argv)
}
