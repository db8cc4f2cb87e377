package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// journalctl -p warning must show warnings, and the lines need no time of their own.
func TestJournalLinesCarryTheirPriority(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	b.vars = append(b.vars, "RESUMED_LOG_LEVL=info") // causes a warning
	log, err := os.Create(b.path("journal"))
	require.NoError(t, err)
	defer log.Close()
	info, err := log.Stat()
	require.NoError(t, err)
	stat := info.Sys().(*syscall.Stat_t)

	b.vars = append(b.vars, fmt.Sprintf("JOURNAL_STREAM=%d:%d", stat.Dev, stat.Ino))
	b.proc = b.command("run")
	b.proc.Stderr = log
	require.NoError(t, b.proc.Start())
	t.Cleanup(func() { b.kill(syscall.SIGKILL) })
	b.until("it runs", func() bool { return strings.Contains(b.read("journal"), "msg=watching") })
	require.Zero(t, b.kill(syscall.SIGTERM))
	text := b.read("journal")
	require.Contains(t, text, "<6>msg=watching ")
	require.Contains(t, text, "<4>msg=configuration ")
	require.NotContains(t, text, "time=")
	for line := range strings.Lines(text) {
		require.Regexp(t, `^<[3-7]>msg=`, line)
	}

	// An inherited variable means another stream.
	b.start()
	require.Contains(t, b.logged(), "time=")
	require.NotContains(t, b.logged(), "<6>")
}

// Exit code 2 means that the configuration is wrong, and that a restart does not help. A crash must
// have another code.
func TestACrashIsNotTakenForABadConfiguration(t *testing.T) {
	b := newBox(t)
	b.start()
	proc := b.proc
	b.kill(syscall.SIGABRT)
	status := proc.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled(), proc.ProcessState)
	require.Equal(t, syscall.SIGABRT, status.Signal())
	require.Contains(t, b.logged(), "goroutine ", "and it tells where it hung")
}
