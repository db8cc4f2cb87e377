package procfs

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATreeCountsWhatItsProcessesUse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("PROCESS TREES ARE NOT TESTED HERE: there is no /proc")
	}
	cmd := exec.Command("sh", "-c", "(while :; do :; done) & echo; wait")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // its child has begun
	require.NoError(t, err)
	before, known := Proc.TreeOf(cmd.Process.Pid)
	require.True(t, known)
	require.Len(t, before.Began, 2)
	var child int
	for pid, age := range before.Began {
		require.Less(t, age, time.Minute)
		if pid != cmd.Process.Pid {
			child = pid
		}
	}
	t.Cleanup(func() {
		for _, pid := range []int{child, cmd.Process.Pid} {
			process, err := os.FindProcess(pid)
			if err == nil {
				_ = process.Kill()
			}
		}
		_ = cmd.Wait()
	})
	for now := before; now.CPU <= before.CPU+100*time.Millisecond; { // what the child uses counts
		now, known = Proc.TreeOf(cmd.Process.Pid)
		require.True(t, known)
	}

	_, known = Proc.TreeOf(1 << 30)
	require.False(t, known)
}

func TestAConnectionIsSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CONNECTIONS ARE NOT TESTED HERE: there is no /proc")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	require.False(t, Proc.Connected(os.Getpid()), "one that only listens is not connected")
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.True(t, Proc.Connected(os.Getpid()))
	require.False(t, Proc.Connected(1<<30))
}

func TestWhenTheMachineStarted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("UPTIME IS NOT TESTED HERE: there is no /proc")
	}
	require.True(t, Proc.BootedAt().Before(time.Now()))
	require.True(t, FS(t.TempDir()).BootedAt().IsZero())
	require.NotEmpty(t, Boot())
}

func TestAProcessThatWaitsForATime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("WAITS ARE NOT TESTED HERE: there is no /proc")
	}
	sleeps, reads := exec.Command("sleep", "1000"), exec.Command("cat")
	_, err := reads.StdinPipe() // it waits for input
	require.NoError(t, err)
	for _, cmd := range []*exec.Cmd{sleeps, reads} {
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	}
	require.Eventually(t, func() bool { return Proc.Sleeps(sleeps.Process.Pid) }, time.Minute, time.Millisecond)
	require.False(t, Proc.Sleeps(reads.Process.Pid))
	require.False(t, Proc.Sleeps(1<<30), "there is no such process")
}
