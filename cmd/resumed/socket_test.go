package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A logout takes the runtime directory away, with the socket in it.
func TestADaemonWhoseSocketWasRemovedCanBeReachedAgain(t *testing.T) {
	b, _ := waiting(t, slowly)
	require.NoError(t, os.RemoveAll(b.path("runtime")))
	b.until("it answers", func() bool { _, _, code := b.run("status"); return code == 0 })
	_, errOut, code := b.run("cancel", claudeSession)
	require.Zero(t, code, errOut)
}

// The state directory tells daemons apart, but there is one socket to reach them.
func TestASecondDaemonDoesNotTakeTheSocketOfTheFirst(t *testing.T) {
	b := newBox(t)
	b.start()
	pid := b.status().Daemon.PID
	b.vars = []string{"XDG_STATE_HOME=" + b.path("other-state")}
	_, errOut, code := b.run("run")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "another daemon answers on "+b.path("runtime/resumed/resumed.sock"))
	require.Equal(t, pid, b.status().Daemon.PID)
}

// What is written to a database without a name is lost with the daemon: a claim
// must not stand there.
func TestNothingIsResumedWhenTheStateWasRemoved(t *testing.T) {
	b, _ := waiting(t, slowly)
	require.NoError(t, os.RemoveAll(b.path(".local/state/resumed")))
	b.until("it says why it waits", func() bool {
		return strings.Contains(b.session(claudeSession).Reason, "removed or replaced")
	})
	require.Equal(t, resume.Waiting, b.session(claudeSession).State)
	require.Contains(t, strings.Join(b.status().Daemon.Problems, "\n"), "removed or replaced")
	require.Empty(t, b.read("calls"))
}
