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

// If the machine was off for days, a person is asked before old work continues, and the named command
// works.
func TestAWaitThatPassedWhileNoDaemonRanIsAskedAbout(t *testing.T) {
	b, _ := waiting(t, "[resume]\noverdue = \"1m\"\n[backoff]\nbase_delay = \"5m\"\njitter = false\n")
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Empty(t, b.read("calls"))
	b.passed(10 * time.Minute)

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
	b, _ := waiting(t, "[resume]\noverdue = \"0s\"\n[backoff]\nbase_delay = \"5m\"\njitter = false\n")
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.passed(10 * time.Minute)

	b.start()
	b.decided()
	require.Contains(t, b.read("calls"), claudeSession)
}

// passed moves the start of the session's wait back, and when a daemon last ran, while none runs.
func (b *box) passed(by time.Duration) {
	b.t.Helper()
	b.edit(claudeSession, func(s *resume.Session) {
		s.LimitedAt, s.WaitFrom, s.NextAt = s.LimitedAt.Add(-by), s.WaitFrom.Add(-by), s.NextAt.Add(-by)
		for _, at := range []*time.Time{&s.MovedAt, &s.BornAt, &s.FoundAt} {
			if !at.IsZero() {
				*at = at.Add(-by)
			}
		}
	})
	db := b.onDisk()
	defer db.Close()
	_, err := db.Exec("UPDATE value SET data = ? WHERE key = 'alive_at'", []byte(time.Now().Add(-by).UTC().Format(time.RFC3339)))
	require.NoError(b.t, err)
}
