package state

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	crashDirEnv = "STATE_TEST_CRASH_DIR"
	crashRounds = 25
)

// writeUntilKilled is the child process of the crash test. Each step changes a session, then its
// cursor, syncs and prints that; then it adds a notice and finishes the one before.
func writeUntilKilled(dir string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return fail(err)
	}
	snap, err := s.Load()
	if err != nil {
		return fail(err)
	}
	first := 1
	if len(snap.Sessions) == 1 {
		first = snap.Sessions[0].Windows + 1
	}
	ctx := context.Background()
	go func() { _ = s.Run(ctx) }()
	for n := first; ; n++ {
		s.Put(session("a", n))
		s.PutCursor("/t/a", json.RawMessage(fmt.Sprint(n)))
		if err := s.Sync(ctx); err != nil {
			return fail(err)
		}
		fmt.Println("synced", n)
		s.StoreOutbox([]Delivery{{ID: notice(n), Channel: "ops", Payload: []byte("payload"), At: time.Now()}}, "told", []byte(notice(n)))
		if err := s.Sync(ctx); err != nil {
			return fail(err)
		}
		fmt.Println("added", n)
		if err := s.Done(ctx, notice(n-1), "ops", "delivered"); err != nil {
			return fail(err)
		}
		fmt.Println("done", n-1)
	}
}

func notice(n int) string { return fmt.Sprintf("notice-%06d", n) }

// crash runs the child, kills it after a while, and returns the last step of each kind that it printed
// as synced.
func crash(t *testing.T, dir string, after time.Duration) map[string]int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), crashDirEnv+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	said := make(map[string]int)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if len(said) == 0 { // it has started to work: the time counts from here
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		var what string
		var n int
		_, err := fmt.Sscan(lines.Text(), &what, &n)
		require.NoError(t, err)
		said[what] = n
	}
	require.ErrorContains(t, child.Wait(), "killed")
	return said
}

func TestWhatWasPromisedSurvivesKillAtAnyTime(t *testing.T) {
	dir := t.TempDir()
	steps := 0
	for round := range crashRounds {
		said := crash(t, dir, time.Duration(rand.IntN(30_000))*time.Microsecond)
		s := open(t, dir)
		var verdict string
		require.NoError(t, s.db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
		require.Equal(t, "ok", verdict)

		snap := load(t, s)
		require.Len(t, snap.Sessions, 1)
		require.Empty(t, snap.Skipped)
		steps = snap.Sessions[0].Windows
		require.GreaterOrEqual(t, steps, said["synced"], "round %d: a claim that was promised", round)
		var cursor int
		require.NoError(t, json.Unmarshal(snap.Cursors["/t/a"], &cursor))
		require.LessOrEqual(t, cursor, steps, "round %d: a cursor ahead of its session", round)
		require.GreaterOrEqual(t, cursor, said["synced"], "round %d", round)

		pending := make(map[string]bool)
		for _, d := range s.Pending() {
			pending[d.ID] = true
		}
		if added := said["added"]; added > 0 {
			_, known := s.deliveries[deliveryKey(notice(added), "ops")]
			require.True(t, known, "round %d: a notice that was promised", round)
		}
		told, _ := s.Value("told")
		newest := ""
		for _, d := range s.deliveries {
			newest = max(newest, d.ID)
		}
		require.Equal(t, newest, string(told), "round %d: a notice and what was told of it are one", round)
		require.False(t, pending[notice(said["done"])], "round %d: a notice that was delivered", round)
		require.NoError(t, s.Close())
	}
	t.Logf("%d rounds, %d steps", crashRounds, steps)
}
