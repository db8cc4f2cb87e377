package peer

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const dialsEnv = "RESUMED_TEST_DIALS"

func TestMain(m *testing.M) {
	if path := os.Getenv(dialsEnv); path != "" { // it connects, and lives until the connection ends
		conn, err := net.Dial("unix", path)
		if err == nil {
			_, _ = conn.Read(make([]byte, 1))
		}
		return
	}
	os.Exit(m.Run())
}

func TestAProcessIsHeldAsLongAsItRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), dialsEnv+"="+path)
	require.NoError(t, child.Start())
	theirs, err := listener.Accept()
	require.NoError(t, err)
	caller, err := Hold(theirs.(*net.UnixConn))
	require.NoError(t, err)
	defer caller.Close()
	again, err := Hold(theirs.(*net.UnixConn))
	require.NoError(t, err)
	defer again.Close()
	require.Equal(t, child.Process.Pid, caller.PID)
	require.True(t, caller.Is(again))

	ours, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer ours.Close()
	listens, err := Hold(ours.(*net.UnixConn))
	require.NoError(t, err)
	defer listens.Close()
	require.Equal(t, os.Getpid(), listens.PID, "after a dial it is the process that listens")
	require.False(t, caller.Is(listens))
	require.False(t, caller.Is(nil))
	var nobody *Held
	require.False(t, nobody.Is(caller))

	require.NoError(t, theirs.Close())
	require.NoError(t, child.Wait())
	require.False(t, caller.Runs())
	require.False(t, caller.Is(again), "another process may have its number by now")
	require.True(t, listens.Runs())
}
