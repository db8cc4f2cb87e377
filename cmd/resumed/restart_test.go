package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A command that ends while no daemon runs, and leaves no trace in the transcript, counts as sent: it
// must not run twice.
func TestACommandThatEndsWhileNoDaemonRunsCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    string // of the command
		signal syscall.Signal
		state  resume.State
		want   string // the attempt's error
	}{
		"it ended well, the daemon was stopped": {"exit 0", syscall.SIGTERM, resume.Settling, ""},
		"it ended well, the daemon was killed":  {"exit 0", syscall.SIGKILL, resume.Settling, ""},
		"it failed":                             {"echo no luck; exit 3", syscall.SIGTERM, resume.Waiting, "exit status 3: no luck"},
		"it was killed":                         {"kill -9 $$", syscall.SIGKILL, resume.Waiting, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(configFile, bot+"[backoff]\nbase_delay = \"10m\"\nmax_delay = \"10m\"\n")
			b.write("bot/resume.sh", recordCall+`while [ ! -e go ]; do sleep 0.05; done; touch finished; `+c.end)
			b.start()
			b.write("bot/logs/s-1.log", "rate limited, retry in 0s\n")
			b.until("the resume runs", func() bool { return len(b.calls()) == 1 })
			b.kill(c.signal)
			b.write("bot/go", "")
			b.until("the command ends", func() bool { _, err := os.Stat(b.path("bot/finished")); return err == nil })
			b.start()
			s := b.untilState("s-1", c.state)
			require.Len(t, s.Attempts, 1, "it counts")
			require.True(t, strings.HasPrefix(s.Attempts[0].Error, c.want), s.Attempts[0].Error)
			b.kill(syscall.SIGKILL)
			b.start()
			b.untilState("s-1", c.state)
			require.Len(t, b.calls(), 1, "an action is never sent twice")
		})
	}
}
