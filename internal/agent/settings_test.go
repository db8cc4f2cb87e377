package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Neither a pipe nor an endless file blocks the caller.
func TestSettingsAreReadWithinBounds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	data, err := ReadSettings(path)
	require.NoError(t, err)
	require.Equal(t, "{}", string(data))

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = ReadSettings(pipe)
	require.ErrorIs(t, err, errNoSettings)
	_, err = ReadSettings(dir)
	require.Error(t, err)
	_, err = ReadSettings(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.Truncate(path, 1<<40))
	_, err = ReadSettings(path)
	require.ErrorContains(t, err, "more than")
}

// A file that thousands of sessions share is parsed only after a change. A file that was just
// written is parsed every time: two writes within one tick of the clock look the same.
func TestSettingsThatLookAsTheyDidAreNotReadAgain(t *testing.T) {
	path, long, parsed := filepath.Join(t.TempDir(), "settings.json"), time.Now().Add(-time.Hour), 0
	write := func(text string, at time.Time) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	var s Settings[string]
	read := func() string {
		text, ok := s.Read(path, func(data []byte) (string, bool) { parsed++; return string(data), true })
		require.Equal(t, text != "", ok)
		return text
	}
	require.Empty(t, read(), "it is not there")
	write("first", long)
	for range 100 {
		require.Equal(t, "first", read())
	}
	require.Equal(t, 1, parsed)
	write("other", long.Add(time.Second))
	require.Equal(t, "other", read())
	write("longer", long.Add(time.Second))
	require.Equal(t, "longer", read())
	require.NoError(t, os.Remove(path))
	require.Empty(t, read(), "what it said does not outlive it")
	soon := time.Now().Add(time.Hour) // as if the clock were at that time
	write("still", soon)
	require.Equal(t, "still", read())
	write("moves", soon)
	require.Equal(t, "moves", read())
}
