package main

import (
	"database/sql"
	"encoding/json"
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
	b, _ := waiting(t, "[resume]\noverdue = \"1s\"\n[backoff]\nbase_delay = \"5m\"\njitter = false\n")
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Empty(t, b.read("calls"))
	b.passed(10 * time.Minute)
	time.Sleep(2 * time.Second) // the time without a daemon

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

// passed moves the start of the session's wait back, while no daemon runs.
func (b *box) passed(by time.Duration) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path(".local/state/resumed/resumed.db"))
	require.NoError(b.t, err)
	defer db.Close()
	var data []byte
	require.NoError(b.t, db.QueryRow("SELECT data FROM session WHERE id = ?", claudeSession).Scan(&data))
	var session resume.Session
	require.NoError(b.t, json.Unmarshal(data, &session))
	session.LimitedAt, session.WaitFrom, session.NextAt = session.LimitedAt.Add(-by), session.WaitFrom.Add(-by), session.NextAt.Add(-by)
	data, err = json.Marshal(session)
	require.NoError(b.t, err)
	_, err = db.Exec("UPDATE session SET data = ? WHERE id = ?", string(data), claudeSession)
	require.NoError(b.t, err)
}
