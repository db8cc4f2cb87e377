package main

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

// A logout removes the runtime directory, with the socket in it.
func TestADaemonWhoseSocketWasRemovedCanBeReachedAgain(t *testing.T) {
	b, _ := waiting(t, slowly)
	require.NoError(t, os.RemoveAll(b.path("runtime")))
	b.until("it answers", func() bool { _, _, code := b.run("status"); return code == 0 })
	_, errOut, code := b.run("cancel", claudeSession)
	require.Zero(t, code, errOut)
}

// Daemons differ by their state directory: commands ask the one with the same directory.
func TestASecondDaemonDoesNotTakeTheSocketOfTheFirst(t *testing.T) {
	b := newBox(t)
	b.start()
	first := b.status().Daemon.PID
	asked := func() int {
		out, _, code := b.run("status", "--json")
		var status control.Status
		if code != 0 || json.Unmarshal([]byte(out), &status) != nil {
			return 0
		}
		return status.Daemon.PID
	}

	b.vars = []string{"XDG_STATE_HOME=" + b.path("other-state")}
	second := b.command("run")
	require.NoError(t, second.Start())
	t.Cleanup(func() {
		require.NoError(t, second.Process.Signal(syscall.SIGTERM))
		require.NoError(t, second.Wait())
	})
	b.until("the second is asked", func() bool { return asked() == second.Process.Pid })
	require.Contains(t, b.logged(), "the usual control socket is another daemon's")
	b.vars = nil
	require.Equal(t, first, asked())
}
