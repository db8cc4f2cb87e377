package deliver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/runner"
)

// The directory of a disk that is not mounted is another one, and empty.
func TestAnEmptyDirectoryIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if _, known := runner.BirthTime(dir); !known {
		t.Skip("NOT TESTED HERE: the file system does not tell when a directory was made")
	}
	var s resume.Session
	s.Cwd, s.CwdBorn, s.WaitFrom = dir, time.Unix(1, 0), time.Now()
	notSent := replaced(s, dir)
	require.Equal(t, resume.Tell, notSent.Then)
	require.Contains(t, notSent.Why, "is empty and not the session's directory")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	require.Equal(t, resume.Park, replaced(s, dir).Then, "another project has its place")
}
