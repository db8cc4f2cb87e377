// Package terminaltest opens terminals for tests.
package terminaltest

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// Open starts a command in a terminal that nothing else can type into, and returns the side of the
// person. To close it is to close the window.
func Open(t testing.TB, cmd *exec.Cmd) *os.File {
	t.Helper()
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40})
	require.NoError(t, err)
	fd, err := syscall.Dup(int(file.Fd()))
	require.NoError(t, err)
	syscall.CloseOnExec(fd)
	require.NoError(t, errors.Join(file.Close(), syscall.SetNonblock(fd, true))) // otherwise Close waits for a Read
	person := os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() { _ = person.Close() })
	return person
}
