package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADirectoryIsCheckedBeforeItIsWorkedIn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, CheckDir(dir))
	require.ErrorContains(t, CheckDir(filepath.Join(dir, "none")), "is gone")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, CheckDir(file), "is not a directory")
	require.ErrorContains(t, CheckDir(""), "not known")
	require.ErrorContains(t, CheckDir("src"), "not an absolute path")
}
