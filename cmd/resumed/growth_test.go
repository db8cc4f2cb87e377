package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/doctor"
	"resumed/internal/resume"
	"resumed/internal/state"
)

const forgetful = bot + `
[backoff]
base_delay = "50ms"
max_retries = 1
[resume]
settle = "0s"
[history]
ended_keep = "1h"
`

const stateOf = ".local/state/resumed"

// A session that gave up long ago is dropped, and then never resumed again: neither by the daemon that
// drops it, nor by one that never knew it.
func TestAForgottenInterruptionIsNotAdoptedAgain(t *testing.T) {
	b := newBox(t)
	b.write(configFile, forgetful)
	b.write("bot/resume.sh", recordCall+"exit 3")
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.start()
	b.untilState("s-1", resume.GaveUp)
	require.Len(t, b.calls(), 1)
	require.Zero(t, b.kill(syscall.SIGTERM))
	b.edit("s-1", func(s *resume.Session) { // two hours ago
		for _, at := range []*time.Time{&s.LimitedAt, &s.MovedAt, &s.BornAt, &s.FoundAt, &s.WaitFrom, &s.Attempts[0].StartedAt, &s.Attempts[0].EndedAt} {
			if !at.IsZero() {
				*at = at.Add(-2 * time.Hour)
			}
		}
	})

	b.start()
	b.untilState("s-1", resume.Watching)
	require.Contains(t, b.session("s-1").Reason, "history.ended_keep")
	steps := b.steps("s-1")
	last := steps[len(steps)-1]
	require.Equal(t, "watching", last.Kind)
	require.Equal(t, "gave_up", last.From)
	require.Contains(t, last.Reason, "forgotten")
	require.Zero(t, b.kill(syscall.SIGTERM))

	// A day later its row is removed, too.
	store, err := state.Open(b.path(stateOf), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	store.DropSession(resume.Key{Agent: "mybot", ID: "s-1"})
	require.NoError(t, store.Close())
	b.start()
	b.write("bot/logs/s-2.log", "step 1\n")
	b.until("all was read", func() bool { return strings.Contains(firstOf(b.run("status", "--all", "--json")), `"s-2"`) })
	require.Empty(t, b.status().Sessions)
	require.Len(t, b.calls(), 1)
	b.appendTo("bot/logs/s-1.log", "rate limited\n")
	b.until("a new interruption counts again", func() bool { return len(b.calls()) == 2 })
}

func TestWhatIsLongOverIsRemoved(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot)
	long := time.Now().Add(-100 * 24 * time.Hour)
	b.write(stateOf+"/runs/old/1.log", "long ago")
	b.write(stateOf+"/runs/young/1.log", "just now")
	b.write(stateOf+"/leases/codex@old.note", `{"at":"`+long.UTC().Format(time.RFC3339)+`","why":"gave up"}`)
	b.write(stateOf+"/leases/codex@dead.lock", "1\n")
	for _, name := range []string{"runs/old/1.log", "runs/old", "leases/codex@old.note", "leases/codex@dead.lock"} {
		require.NoError(t, os.Chtimes(b.path(stateOf, name), long, long))
	}
	b.start()
	b.until("what is old is gone", func() bool {
		for _, name := range []string{"runs/old", "leases/codex@old.note", "leases/codex@dead.lock"} {
			if _, err := os.Stat(b.path(stateOf, name)); err == nil {
				return false
			}
		}
		return true
	})
	require.FileExists(t, b.path(stateOf, "runs/young/1.log"))
}

func TestDoctorSaysWhatIsKept(t *testing.T) {
	b := newBox(t)
	b.write(configFile, forgetful)
	b.write("bot/resume.sh", "echo words; exit 3")
	b.write("bot/logs/s-1.log", "step 1\nrate limited\n")
	b.start()
	b.untilState("s-1", resume.GaveUp)
	out, errOut, code := b.run("doctor", "--json")
	require.Zero(t, code, errOut)
	var said struct{ Kept []doctor.Stored }
	require.NoError(t, json.Unmarshal([]byte(out), &said))
	found := make(map[string]doctor.Stored)
	for _, k := range said.Kept {
		require.NotEmpty(t, k.Bound, k)
		found[k.What] = k
	}
	require.Equal(t, 1, found["sessions"].Count)
	require.Equal(t, 1, found["cursors"].Count)
	require.Greater(t, found["history"].Count, 2)
	require.Positive(t, found["history"].Bytes)
	require.Equal(t, b.path(stateOf, "resumed.db"), found["history"].Path)
	require.Equal(t, 1, found["outputs"].Count)
	require.Equal(t, int64(len("words\n")), found["outputs"].Bytes)
	require.Contains(t, found, "leases")
	out, _, _ = b.run("doctor")
	require.Regexp(t, `(?m)^ok +kept +outputs: 1, 6 B; for 90d \(history.keep\), at most 256MiB \(history.runs_max_size\)$`, out)
}
