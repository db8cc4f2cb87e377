package lease

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary another process that holds a lease.
func TestMain(m *testing.M) {
	if dir := os.Getenv("HOLD_LEASE_IN"); dir != "" {
		if _, err := Acquire([]string{dir}, "codex", "s-1"); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0) // without a release, as if it had died
	}
	os.Exit(m.Run())
}

func TestALeaseIsHeldByOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "resumed", "leases")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "HOLD_LEASE_IN="+dir)
	stdin, err := other.StdinPipe()
	require.NoError(t, err)
	stdout, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", said)

	_, err = Acquire([]string{dir}, "codex", "s-1")
	held, ok := errors.AsType[*HeldError](err)
	require.True(t, ok, err)
	require.Equal(t, other.Process.Pid, held.PID)
	require.EqualError(t, err, fmt.Sprintf("another resumed (pid %d) looks after this session", other.Process.Pid))

	require.True(t, HeldByOther([]string{dir}, "codex", "s-1"))
	require.False(t, HeldByOther([]string{dir}, "claude-code", "s-1"))

	elsewhere, err := Acquire([]string{dir}, "claude-code", "s-1")
	require.NoError(t, err, "a session of that name of another agent is another session")
	require.NoError(t, elsewhere.Release())

	require.NoError(t, stdin.Close())
	require.NoError(t, other.Wait())
	require.False(t, HeldByOther([]string{dir}, "codex", "s-1"), "the file outlives its holder, the lease does not")
	mine, err := Acquire([]string{dir}, "codex", "s-1")
	require.NoError(t, err, "a lease ends with its holder")
	require.False(t, HeldByOther([]string{dir}, "codex", "s-1"))
	require.NoError(t, mine.Release())
}

func TestALeaseLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	l, err := Acquire([]string{dir}, "codex", "s-1")
	require.NoError(t, err)
	_, err = Acquire([]string{dir}, "codex", "s-1")
	require.Error(t, err, "not twice in one process either")
	require.NoError(t, l.Release())
	require.NoError(t, l.Release(), "a second release does nothing")
	var none *Lease
	require.NoError(t, none.Release())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// What is in it says which sessions a person has, and why they were given up.
func TestALeaseIsForItsUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	l, err := Acquire([]string{dir}, "codex", "s-1")
	require.NoError(t, err)
	require.NoError(t, l.GiveUp(Note{At: time.Now()}))
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, "codex@s-1.lock": 0o600, "codex@s-1.note": 0o600} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
	require.NoError(t, l.Release())
}

func TestTheNewestNoteCounts(t *testing.T) {
	old, young := t.TempDir(), t.TempDir()
	at := time.Now().UTC().Round(time.Second)
	for dir, left := range map[string]Note{old: {At: at.Add(-time.Hour), Why: "gave up"}, young: {At: at, Why: "cancelled", Cancelled: true}} {
		l, err := Acquire([]string{dir}, "codex", "s-1")
		require.NoError(t, err)
		require.NoError(t, l.GiveUp(left))
		require.NoError(t, l.Release())
	}
	for _, dirs := range [][]string{{old, young}, {young, old}} {
		last, found := LastNote(dirs, "codex", "s-1")
		require.True(t, found)
		require.Equal(t, Note{At: at, Why: "cancelled", Cancelled: true}, last)
	}
}

// The usual error of lock files: one process locks the removed file, another the new one, and
// both continue.
func TestManyWhoComeAndGoNeverHoldItTogether(t *testing.T) {
	dir := t.TempDir()
	var holders, turns atomic.Int32
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for turns.Load() < 300 {
				l, err := Acquire([]string{dir}, "codex", "s-1")
				if _, held := errors.AsType[*HeldError](err); held {
					continue
				}
				if err != nil || holders.Add(1) != 1 {
					t.Errorf("two hold the lease, or: %v", err)
				}
				turns.Add(1)
				runtime.Gosched()
				holders.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestAnyNameIsAFileInTheDirectory(t *testing.T) {
	for _, id := range []string{"..", "../../x", "a/b", "", "ses_1", "a@b", "ü\n\x00", strings.Repeat("x", 5000)} {
		dir := t.TempDir()
		l, err := Acquire([]string{dir}, "my/bot", id)
		require.NoError(t, err, "%q", id)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "%q", id)
		require.True(t, entries[0].Type().IsRegular())
		require.NoError(t, l.Release())
	}
	require.NotEqual(t, name("a", "b@c"), name("a@b", "c"))
}

func TestALeaseIsSeenInEveryPlaceThatTwoHaveInCommon(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	l, err := Acquire([]string{a, b}, "codex", "s-1")
	require.NoError(t, err)
	_, err = Acquire([]string{c, b}, "codex", "s-1")
	_, held := errors.AsType[*HeldError](err)
	require.True(t, held, err)
	entries, err := os.ReadDir(c)
	require.NoError(t, err)
	require.Empty(t, entries, "who does not get it leaves nothing behind")
	left := Note{At: time.Now().UTC().Round(time.Second), Why: "gave up"}
	require.NoError(t, l.GiveUp(left))
	require.NoError(t, l.Release())
	got, found := LastNote([]string{c, b}, "codex", "s-1")
	require.True(t, found)
	require.Equal(t, left, got)
}

// A logout removes the runtime directory while leases are held.
func TestALeaseWhosePlaceWasRemovedIsHeldInTheOther(t *testing.T) {
	home, login := t.TempDir(), filepath.Join(t.TempDir(), "login")
	l, err := Acquire([]string{home, login}, "codex", "s-1")
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(login))
	_, err = Acquire([]string{home, login}, "codex", "s-1")
	_, held := errors.AsType[*HeldError](err)
	require.True(t, held, err)
	require.NoError(t, l.Release())
	l, err = Acquire([]string{home, login}, "codex", "s-1")
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

func TestALeaseIsHeldWhereItCanBeHad(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	l, err := Acquire([]string{filepath.Join(dir, "file"), dir}, "codex", "s-1")
	require.NoError(t, err)
	_, err = Acquire([]string{dir}, "codex", "s-1")
	require.Error(t, err)
	require.NoError(t, l.Release())
	_, err = Acquire([]string{filepath.Join(dir, "file")}, "codex", "s-1")
	require.ErrorContains(t, err, "directory of leases")
}

func TestANoteOutlivesTheLease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	for _, id := range []string{"s-1", strings.Repeat("long", 100)} {
		_, found := LastNote([]string{dir}, "codex", id)
		require.False(t, found)
		l, err := Acquire([]string{dir}, "codex", id)
		require.NoError(t, err)
		left := Note{At: time.Now().UTC().Round(time.Second), Why: "gave up"}
		require.NoError(t, l.GiveUp(left))
		require.NoError(t, l.Release())
		got, found := LastNote([]string{dir}, "codex", id)
		require.True(t, found)
		require.Equal(t, left, got)
		require.NoError(t, os.WriteFile(notePath(filepath.Join(dir, name("codex", id))), []byte("{"), 0o600))
		_, found = LastNote([]string{dir}, "codex", id)
		require.False(t, found, "a torn one is none")
	}
	require.NoError(t, (*Lease)(nil).GiveUp(Note{}), "whoever has none leaves none")
}

func TestOldNotesAndAbandonedLeasesGo(t *testing.T) {
	dirs := []string{t.TempDir(), filepath.Join(t.TempDir(), "none")}
	month := time.Now().Add(-30 * 24 * time.Hour)
	age := func(name string) {
		t.Helper()
		require.NoError(t, os.Chtimes(filepath.Join(dirs[0], name), month, month))
	}
	for id, at := range map[string]time.Time{"old": month, "new": time.Now()} {
		l, err := Acquire(dirs[:1], "codex", id)
		require.NoError(t, err)
		require.NoError(t, l.GiveUp(Note{At: at, Why: "gave up"}))
		require.NoError(t, l.Release())
		age("codex@" + id + ".note")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dirs[0], "codex@torn.note"), []byte("{"), 0o600))
	age("codex@torn.note")
	held, err := Acquire(dirs[:1], "codex", "held")
	require.NoError(t, err)
	age("codex@held.lock")
	for _, name := range []string{"codex@dead.lock", "codex@young.lock", "mine.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dirs[0], name), nil, 0o600))
	}
	age("codex@dead.lock")
	age("mine.txt")

	require.NoError(t, Prune(dirs, time.Now().Add(-24*time.Hour)))
	var left []string
	entries, err := os.ReadDir(dirs[0])
	require.NoError(t, err)
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	require.Equal(t, []string{"codex@held.lock", "codex@new.note", "codex@young.lock", "mine.txt"}, left)
	require.NoDirExists(t, dirs[1])
	_, err = Acquire(dirs[:1], "codex", "held")
	require.Error(t, err, "it is held as before")
	require.NoError(t, held.Release())
}
