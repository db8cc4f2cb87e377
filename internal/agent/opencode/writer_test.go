package opencode

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

func TestReadingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for state, prepare := range map[string]func(*store){
		"at rest":        func(s *store) { require.NoError(s.t, s.db.Close()) },
		"being written":  func(*store) {},
		"after a crash":  func(s *store) { crash(s) },
		"copied with it": func(s *store) { crash(s); require.NoError(s.t, os.Remove(s.path+"-shm")) },
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, agent.Options{})
			s := newStore(t, a.homes.Roots[0])
			s.session("ses_1", "/src/app", time.Now())
			s.assistant("msg_1", "ses_1", time.Now(), refused(1))
			prepare(s)
			before := leavings(t, a.homes.Roots[0])
			w := follow(t, a, nil)
			until[resume.Limited](w, "ses_1")
			w.stop()
			after := leavings(t, a.homes.Roots[0])
			delete(after, "opencode.db-shm")
			delete(before, "opencode.db-shm") // an index of the log, which SQLite always needs
			require.Equal(t, before, after)
		})
	}
}

// crash makes the database look as if its writer was killed.
func crash(s *store) {
	s.t.Helper()
	aside := s.t.TempDir()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(s.path + suffix)
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(filepath.Join(aside, "x"+suffix), data, 0o600))
	}
	require.NoError(s.t, s.db.Close())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(s.t, os.Rename(filepath.Join(aside, "x"+suffix), s.path+suffix))
	}
}

// writerVariable makes the test program a process that writes as opencode does.
const writerVariable = "RESUMED_TEST_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		write(path)
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait for a database to be looked at again
		panic(err)
	}
	os.Exit(m.Run())
}

const turns = 40

// write writes turns in small transactions, as fast as a stream of tokens, and reports how each ended.
func write(path string) {
	s := &store{t: &testing.T{}, path: path}
	s.open()
	busy := 0
	exec := func(query string, args ...any) {
		if _, err := s.db.Exec(query, args...); err != nil {
			busy++
			fmt.Println("error", err)
		}
	}
	for turn := range turns {
		id, began := fmt.Sprintf("msg_%03d", turn), time.Now()
		exec("INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)", id, began.UnixMilli(), began.UnixMilli(), `{"role":"assistant","time":{}}`)
		for part := range 10 {
			exec("INSERT INTO part VALUES (?, ?, 'ses_1', 0, 0, ?)", fmt.Sprintf("prt_%03d_%d", turn, part), id, strings.Repeat("x", 2000))
			time.Sleep(time.Millisecond)
		}
		exec("UPDATE message SET data = ? WHERE id = ?",
			fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":%d},"finish":"stop"}`, began.UnixMilli(), time.Now().UnixMilli()), id)
	}
	exec("PRAGMA wal_checkpoint(TRUNCATE)")
	fmt.Println("errors", busy)
	fmt.Println("last", time.Now().UnixMilli())
}

// A second process writes without waiting for locks while the database is watched: it is never blocked, and its
// writes are reported within a second.
func TestTheWriterNeverWaits(t *testing.T) {
	t.Parallel()
	a := newAgent(t, agent.Options{})
	s := newStore(t, a.homes.Roots[0])
	s.session("ses_1", "/src/app", time.Now())
	require.NoError(t, s.db.Close())
	w := follow(t, a, nil)

	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), writerVariable+"="+s.path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	require.NoError(t, cmd.Wait())
	require.Contains(t, lines, "errors 0", strings.Join(lines, "\n"))

	deadline := time.Now().Add(time.Second)
	for len(w.events("ses_1")) < turns && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	require.Len(t, w.events("ses_1"), turns, "within a second\n%s", w.logged())
}
