package soak

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// TestManySessionsOfOneAccountGiveUp lets thousands of sessions of one account meet a limit
// at once, each with one try that fails, and says what that takes.
//
//	SOAK_GIVE_UPS=5000 go test -v -timeout 0 -run GiveUp ./soak
func TestManySessionsOfOneAccountGiveUp(t *testing.T) {
	sessions, err := strconv.Atoi(os.Getenv("SOAK_GIVE_UPS"))
	if err != nil {
		t.Skip("NOT SOAKED: say how many give up, as in SOAK_GIVE_UPS=5000")
	}
	w := newWorld(t, programs(t), "", 1)
	w.write(".config/resumed/resumed.toml", strings.Replace(fmt.Sprintf(settings, w.home), "max_retries = 3", "max_retries = 1", 1), 0o600)
	w.write("continue", "#!/bin/sh\nexit 1\n", 0o700)
	w.daemon = w.command("run")
	require.NoError(t, w.daemon.Start())
	begun := time.Now()
	for i := range sessions {
		w.write(fmt.Sprintf("logs/s-%d.log", i), "step 1\nrate limited, retry in 0s\n", 0o600)
	}
	state := filepath.Join(w.home, ".local/state/resumed")
	for tried := 0; tried < sessions; time.Sleep(time.Second) { // who asks for all of them costs more than they do
		found, err := filepath.Glob(filepath.Join(state, "runs/*/1.exit"))
		require.NoError(t, err)
		tried = len(found)
	}
	for len(w.unsettled()) > 0 {
		time.Sleep(time.Second)
	}
	took := time.Since(begun)
	w.end(syscall.SIGTERM)
	db, err := sql.Open("sqlite", filepath.Join(state, "resumed.db"))
	require.NoError(t, err)
	defer db.Close()
	var rows, most int
	require.NoError(t, db.QueryRow("SELECT sum(n), max(n) FROM (SELECT count(*) AS n FROM history GROUP BY agent, id)").Scan(&rows, &most))
	info, err := os.Stat(filepath.Join(state, "resumed.db"))
	require.NoError(t, err)
	used := w.daemon.ProcessState
	t.Logf("%d sessions gave up in %s, with %s of CPU: %d lines of history, %d a session at most, %.1f MB of state",
		sessions, took.Round(time.Second), (used.UserTime() + used.SystemTime()).Round(time.Second), rows, most, float64(info.Size())/1e6)
	require.LessOrEqual(t, most, 6)
}
