package main

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
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
	require.NoError(t, b.proc.Process.Signal(syscall.SIGSTOP))
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
