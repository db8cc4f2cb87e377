package starts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A flag may name a pipe, such as <(command) of a shell, or a file in the session's directory that a repository has.
func TestOnlyRegularFilesAreHashed(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	ours := fmt.Sprintf("/dev/fd/%d", read.Fd())
	hashes := HashFiles([]string{pipe, ours, dir, filepath.Join(dir, "gone"), file})
	require.Len(t, hashes, 1, "and nothing waits for a writer")
	require.Len(t, hashes[file], 32)
	require.Nil(t, HashFiles([]string{dir}))
}

func TestAFileThatHasChangedSinceIsNamed(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"same", "gone", "other", "other-at-its-end", "link"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	long := bytes.Repeat([]byte("line\n"), 100_000)
	for _, path := range paths[:4] {
		require.NoError(t, os.WriteFile(path, long, 0o600))
	}
	require.NoError(t, os.Symlink("same", paths[4]))
	o := resume.Origin{Files: HashFiles(paths)}
	require.Len(t, o.Files, len(paths))
	changed, gone := ChangedFiles(o)
	require.Empty(t, slices.Concat(changed, gone))

	require.NoError(t, os.Remove(paths[1]))
	require.NoError(t, os.WriteFile(paths[2], nil, 0o600))
	require.NoError(t, os.WriteFile(paths[3], append(long, 'x'), 0o600))
	require.NoError(t, os.Remove(paths[4]))
	require.NoError(t, os.Symlink("other", paths[4]))
	changed, gone = ChangedFiles(o)
	require.Equal(t, []string{paths[4], paths[2], paths[3]}, changed)
	require.Equal(t, []string{paths[1]}, gone, "which is another matter")
}
