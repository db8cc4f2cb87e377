package fsevents

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

func listening(t *testing.T, dirs ...string) *Listener {
	t.Helper()
	l, err := New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	for _, dir := range dirs {
		require.NoError(t, l.Add(dir))
	}
	return l
}

// heard returns the names of which somebody was told, until one is the wanted one.
func heard(t *testing.T, l *Listener, wanted string) (names []string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-l.Ready():
		case <-deadline:
			require.FailNow(t, "nobody told of "+wanted)
		}
		events, err := l.Take(1 << 10)
		require.NoError(t, err)
		for _, ev := range events {
			if names = append(names, ev.Name); ev.Name == wanted {
				return names
			}
		}
	}
}

func touch(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	return path
}

func TestEachHearsOfItsOwnDirectories(t *testing.T) {
	mine, yours, ours := t.TempDir(), t.TempDir(), t.TempDir()
	a, b := listening(t, mine, ours), listening(t, yours, ours)
	touch(t, filepath.Join(mine, "x"))
	touch(t, filepath.Join(yours, "x"))
	last := touch(t, filepath.Join(ours, "last"))
	require.NotContains(t, heard(t, a, last), filepath.Join(yours, "x"))
	require.NotContains(t, heard(t, b, last), filepath.Join(mine, "x"))

	require.NoError(t, a.Remove(ours))
	require.ErrorIs(t, a.Remove(ours), fsnotify.ErrNonExistentWatch)
	heard(t, b, touch(t, filepath.Join(ours, "after"))) // b still listens
	require.NotContains(t, heard(t, a, touch(t, filepath.Join(mine, "after"))), filepath.Join(ours, "after"))
	require.Equal(t, []string{mine}, a.Added())
}

// The kernel knows a directory by one name; who came by another must hear of it by his own.
func TestADirectoryOfTwoNamesIsToldByBoth(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	a, b := listening(t, dir), listening(t, link)
	touch(t, filepath.Join(dir, "x"))
	heard(t, a, filepath.Join(dir, "x"))
	heard(t, b, filepath.Join(link, "x"))
}

func TestADirectoryThatIsMadeAnewIsHeardAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := listening(t, dir)
	require.NoError(t, os.Remove(dir))
	heard(t, l, dir)
	require.ErrorIs(t, l.Add(dir), os.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, l.Add(dir))
	heard(t, l, touch(t, filepath.Join(dir, "x")))
}

// Who does not take what he was told holds up nobody, and costs no more than so much.
func TestTooManyEventsAreGivenUp(t *testing.T) {
	dir := t.TempDir()
	l := listening(t, dir)
	shared.mu.Lock()
	for i := range mostWaiting + 1 {
		shared.tell(dir, fmt.Sprint(i), fsnotify.Event{})
	}
	shared.mu.Unlock()
	events, err := l.Take(10)
	require.ErrorIs(t, err, fsnotify.ErrEventOverflow)
	require.Empty(t, events)

	shared.mu.Lock()
	for i := range 25 {
		shared.tell(dir, fmt.Sprint(i), fsnotify.Event{})
	}
	shared.mu.Unlock()
	for _, want := range []int{10, 10, 5} {
		<-l.Ready()
		events, err = l.Take(10)
		require.NoError(t, err)
		require.Len(t, events, want)
	}
}

func TestTheLastOneGivesTheInstanceBack(t *testing.T) {
	a, err := New()
	require.NoError(t, err)
	require.NoError(t, a.Add(t.TempDir()))
	require.NoError(t, a.Close())
	require.Nil(t, shared.kernel)
	dir := t.TempDir()
	heard(t, listening(t, dir), touch(t, filepath.Join(dir, "x")))
}
