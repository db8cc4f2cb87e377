package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

func TestADirectoryIsCheckedBeforeItIsWorkedIn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	now := time.Now()
	waits := func(from, reset time.Time) (s resume.Session) {
		s.WaitFrom, s.Limit.Reset.At = from, reset
		return s
	}
	fresh, none := waits(now.Add(-time.Hour), time.Time{}), filepath.Join(dir, "none")
	require.Nil(t, CheckDir(fresh, dir))
	for _, c := range []struct {
		s     resume.Session
		dir   string
		leave Skip
	}{
		{fresh, none, Skip{Why: "the session's directory " + none + " is gone: it is continued when that is back", Tell: true}},
		{waits(now.Add(-7*24*time.Hour), now.Add(-time.Hour)), none, Skip{Why: "the session's directory " + none + " is gone: it is continued when that is back", Tell: true}},
		{waits(now.Add(-4*24*time.Hour), time.Time{}), none, Skip{Why: "the session's directory " + none + " is gone", Park: true}},
		{fresh, filepath.Join(file, "none"), Skip{Why: "the session's directory cannot be used: stat " + file + "/none: not a directory: it is continued when that is back", Tell: true}},
		{fresh, file, Skip{Why: "the session's directory " + file + " is not a directory any more", Park: true}},
		{fresh, "", Skip{Why: "the session's directory is not known", Park: true}},
		{fresh, "src", Skip{Why: "the session's directory src is not an absolute path", Park: true}},
	} {
		require.Equal(t, &c.leave, CheckDir(c.s, c.dir))
	}
}
