package feed

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// opens counts how often a file is opened. The kernel tells of it before who opens the file goes on.
func opens(t *testing.T, path string) func() int {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	_, err = syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_ACCESS|syscall.IN_CLOSE) // two that are alike and follow each other count as one
	require.NoError(t, err)
	return func() (count int) {
		room := make([]byte, 1<<16)
		n, err := syscall.Read(fd, room)
		require.NoError(t, err)
		for at := 0; at < n; at += syscall.SizeofInotifyEvent { // of a file itself, they have no name
			if mask := binary.NativeEndian.Uint32(room[at+4:]); mask&syscall.IN_OPEN != 0 {
				count++
			}
		}
		return count
	}
}

// What a session is stands at the beginning of a transcript, and how it stands at its end: a
// long one is opened once for both, and they say what a reading of all of it says.
func TestALongTranscriptIsOpenedOnceAtFirstSight(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(captures)) {
		a := knows(t, name)
		text := shortTranscript(t, a, captures[name])
		text = slices.Concat(text, bytes.Repeat(answers(text, a), 50), text) // its last turn begins not far from its end
		dir := t.TempDir()
		path := place(t, dir, 0)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, text, 0o600))

		slowly := readSlowly(t, knows(t, name), dir, nil)
		count := opens(t, path)
		atOnce := readAll(t, knows(t, name), dir, nil)
		require.Equal(t, 1, count(), name)
		require.Len(t, atOnce[path], 1, name)
		require.NotEmpty(t, atOnce[path][0].Cwd, name)
		require.Equal(t, slowly[path][len(slowly[path])-1], atOnce[path][0], name)
	}
}
