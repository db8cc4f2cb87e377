package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// A daemon that hangs is reported, and commands wait for it only a short time.
func TestHungDaemonDoesNotHangTheCommands(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+served)
	b.write("bot/logs/s1.log", "rate limited, retry in 1h\n")
	b.write("bot/logs/s2.log", "rate limited, retry in 1h\n") // the order may still be done when the daemon continues
	b.start()
	b.untilState("s1", resume.Waiting)
	b.untilState("s2", resume.Waiting)
	watching := follow(b, "status", "--watch")
	for range 3 { // the daemon, and both sessions
		next(b, watching)
	}
	require.NoError(t, b.proc.Process.Signal(syscall.SIGSTOP))
	require.Contains(t, next(b, watching), "the daemon does not answer; trying again")
	var asking sync.WaitGroup
	for _, args := range []string{"", "status", "status --json", "status --watch", "retry s2", "pause", "history", "open --print"} {
		asking.Go(func() {
			_, errOut, code := b.run(strings.Fields(args)...)
			if code != exitFailed || !strings.Contains(errOut, "does not answer") || !strings.Contains(errOut, "Try: ") {
				t.Errorf("resumed %s: exit code %d, %q", args, code, errOut)
			}
		})
	}
	asking.Wait()
	require.NoError(t, b.proc.Process.Signal(syscall.SIGCONT))
	require.Equal(t, resume.Waiting, b.session("s1").State, "nothing was lost meanwhile")
}

// A message in the queue of a Codex that does not take it may still be taken: it is not sent again.
func TestAMessageThatCodexDoesNotTakeIsUnknown(t *testing.T) {
	b := newCodexLiveBox(t)
	b.hold(func(h *codexHolder) { h.Deaf = true }, codexDaemon...)
	b.start()
	b.stop()
	var s view.Session
	b.within(3*patience, "it is parked", func() bool { // it is waited for half a minute
		s = b.session(codexSession)
		return s.State == resume.Parked
	})
	require.Contains(t, s.Reason, "did not appear in the transcript")
	require.Equal(t, resume.Unknown, s.Attempts[0].Outcome)
	require.Equal(t, 1, strings.Count(b.read("calls"), "queue"))
}
