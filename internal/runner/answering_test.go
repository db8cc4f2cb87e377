package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where processes cannot be distinguished, any process with a command's pid counts as that
// command, and is not ended.
func TestWhatAnswersIsTakenForTheCommandAndLeftAlone(t *testing.T) {
	child := exec.Command("sleep", "600")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, child.Start())
	since := time.Now().Add(-time.Hour)
	p, alive := FindByPID(child.Process.Pid, since)
	require.True(t, alive)
	require.Equal(t, since, p.Began())
	status := filepath.Join(t.TempDir(), "status")
	require.NoError(t, os.WriteFile(status, []byte("pid 7\n"), 0o600))
	p.Bind(Command{Bounds: bounds(time.Nanosecond, 0), Status: status})
	require.ErrorContains(t, p.Stop(t.Context()), "end it yourself")
	require.NoError(t, child.Process.Signal(syscall.Signal(0)), "it lives")
	require.Equal(t, StatusFile{Began: true, PID: 7}, ReadStatusFile(status))

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	_, alive = FindByPID(child.Process.Pid, since)
	require.False(t, alive)
	for _, pid := range []int{0, -1, os.Getpid()} {
		_, alive = FindByPID(pid, since)
		require.False(t, alive, pid)
	}
	follower := exec.Command("sleep", "600") // in the group of this process, so not started as a command
	require.NoError(t, follower.Start())
	t.Cleanup(func() { _ = follower.Process.Kill(); _ = follower.Wait() })
	_, alive = FindByPID(follower.Process.Pid, since)
	require.False(t, alive)
}

// Where processes cannot be distinguished, what is left of a command is its group, as long as it answers.
func TestAGroupThatAnswersIsWhatIsLeftOfACommand(t *testing.T) {
	child := exec.Command("sleep", "600")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, child.Start())
	left := groupOf(child.Process.Pid)
	require.Equal(t, child.Process.Pid, left.group)
	require.Len(t, left.members, 1)

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	follower := exec.Command("sleep", "600") // it leads no group
	require.NoError(t, follower.Start())
	t.Cleanup(func() { _ = follower.Process.Kill(); _ = follower.Wait() })
	for _, pid := range []int{child.Process.Pid, follower.Process.Pid, 0, -1} { // a signal to the group 0 would go to the daemon's own
		require.Equal(t, family{}, groupOf(pid), pid)
	}
}
