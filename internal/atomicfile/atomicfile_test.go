package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestWriteReplacesTheWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255)) // the maximum length of a name
	require.NoError(t, Write(path, []byte("old and longer"), 0o600))
	old, err := os.Open(path)
	require.NoError(t, err)
	defer old.Close()

	require.NoError(t, Write(path, []byte("new"), 0o600))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	data, err = io.ReadAll(old)
	require.NoError(t, err)
	require.Equal(t, "old and longer", string(data), "whoever reads is not disturbed")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	require.Len(t, names(t, filepath.Dir(path)), 1, "nothing else is left")
}

// A link could lead to a file that others can read.
func TestALinkIsReplaced(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "path")
	require.NoError(t, os.WriteFile(other, []byte("other"), 0o644))
	require.NoError(t, os.Symlink(other, path))
	require.NoError(t, Write(path, []byte("new"), 0o600))
	data, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "other", string(data))
}

func TestWhatFailsLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Write(path, []byte("old"), 0o600))
	torn := errors.New("torn")
	require.ErrorIs(t, Copy(path, io.MultiReader(strings.NewReader("half"), iotest.ErrReader(torn)), 0o600), torn)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	require.Equal(t, []string{"file"}, names(t, dir))

	require.ErrorIs(t, Write(filepath.Join(dir, "missing", "file"), nil, 0o600), fs.ErrNotExist)
	require.Error(t, Write(dir, nil, 0o600), "a directory is not replaced")
	require.Equal(t, []string{"file"}, names(t, dir))
}
