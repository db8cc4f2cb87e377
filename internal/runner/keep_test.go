package runner

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Where there is no shell, this program writes how a command ended, as the shell's script does.
func TestTheProgramKeepsTheStatusAsTheShellDoes(t *testing.T) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH) // a signal that does not end the test
	t.Cleanup(func() { signal.Reset(syscall.SIGWINCH, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM) })
	for name, c := range map[string]struct {
		script string
		code   int
		passed bool // it sends the signal to itself, and waits a moment for its own end
	}{
		"it ends well":                 {`grep -q "^pid $PPID$" "$1"`, 0, false},
		"it fails":                     {"exit 3", 3, false},
		"a code below that of signals": {"exit 128", 128, false},
		"a code of no signal":          {"exit 228", 228, false},
		"a signal ends it":             {"exit 156", 156, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			status, began := filepath.Join(t.TempDir(), "1.exit"), time.Now()
			require.Equal(t, c.code, RunWithStatus(status, []string{"/bin/sh", "-c", c.script, "sh", status}), name)
			require.Equal(t, c.passed, time.Since(began) > 0, name)
			require.Equal(t, StatusFile{Began: true, Ended: true, Code: c.code}, ReadStatusFile(status), name)
		})
	}
	select {
	case <-resized:
	case <-time.After(time.Minute):
		require.FailNow(t, "the keeper does not end by the signal that ended its command")
	}
	require.Equal(t, 126, RunWithStatus(filepath.Join(t.TempDir(), "none", "1.exit"), []string{"touch", "touched"}))
	require.NoFileExists(t, "touched", "what cannot leave its status is not run")
}

// The exit codes are those of a shell.
func TestTheExitCodeSaysWhyACommandDidNotRun(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for code, argv := range map[int][]string{
		0:   {"/bin/sh", "-c", "exit 0"},
		3:   {"/bin/sh", "-c", "exit 3"},
		126: {plain},
		127: {plain + ".none"},
		137: {"/bin/sh", "-c", "kill -9 $$"},
	} {
		require.Equal(t, code, exitCode(exec.Command(argv[0], argv[1:]...).Run()), argv)
	}
	require.Equal(t, 127, exitCode(exec.Command("no-such-agent").Run()), "it is not in PATH")
}
