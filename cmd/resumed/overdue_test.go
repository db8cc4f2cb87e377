package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// Who switches the machine on after days is asked before old work goes on by
// itself, and the command that is named does what it says.
func TestAWaitThatPassedWhileNoDaemonRanIsAskedAbout(t *testing.T) {
	b, _ := waiting(t, "[resume]\noverdue = \"1s\"\n[backoff]\nbase_delay = \"5s\"\njitter = false\n")
	next := b.session(claudeSession).NextAt
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Empty(t, b.read("calls"))
	time.Sleep(time.Until(next.Add(3 * time.Second)))

	b.start()
	s := b.decided()
	require.Equal(t, resume.Parked, s.State, s.Reason)
	require.Empty(t, b.read("calls"))
	command := regexp.MustCompile("`resumed (.+?)`").FindStringSubmatch(s.Reason)
	require.NotNil(t, command, s.Reason)
	_, stderr, code := b.run(strings.Fields(command[1])...)
	require.Zero(t, code, stderr)
	b.until("it goes on", func() bool { return strings.Contains(b.read("calls"), claudeSession) })
}

func TestAWaitThatPassedWhileNoDaemonRanGoesOnWhereNobodyIsToBeAsked(t *testing.T) {
	b, _ := waiting(t, "[resume]\noverdue = \"0s\"\n[backoff]\nbase_delay = \"5s\"\njitter = false\n")
	next := b.session(claudeSession).NextAt
	require.Zero(t, b.kill(syscall.SIGTERM))
	time.Sleep(time.Until(next.Add(time.Second)))

	b.start()
	b.decided()
	require.Contains(t, b.read("calls"), claudeSession)
}
