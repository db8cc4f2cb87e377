package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Neither a pipe nor a file without an end holds anybody up.
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
