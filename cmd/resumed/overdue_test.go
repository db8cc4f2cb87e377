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

// Who switches the machine on after days is asked before old work goes on by
// itself, and the command that is named does what it says.
func TestAWaitThatPassedWhileNoDaemonRanIsAskedAbout(t *testing.T) {
	b, _ := waiting(t, "[resume]\noverdue = \"1s\"\n[backoff]\nbase_delay = \"5m\"\njitter = false\n")
	require.Zero(t, b.kill(syscall.SIGTERM))
	require.Empty(t, b.read("calls"))
	b.passed(10 * time.Minute)
	time.Sleep(2 * time.Second) // as long as nobody was there

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

// passed makes the wait of the session, of which no daemon knows now, begin earlier.
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
