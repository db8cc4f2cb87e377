package transcript

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

func reader() *Reader {
	return &Reader{LimitsAt: func(at time.Time) limit.Reader { return limit.Reader{At: at} }}
}

// The transcripts are those of Claude Code 2.1.325 with a provider that refuses its subagents.
func captured(t *testing.T, name string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "subagents", name, "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, paths, 1)
	return paths[0]
}

func TestSubagentsThatALimitStopped(t *testing.T) {
	for name, stoppedIn := range map[string]string{
		"went-on":            "2026-11-17T14:53:19Z",
		"stopped":            "2026-11-17T14:53:26Z",
		"stopped-foreground": "2026-11-17T14:55:13Z",
	} {
		found, err := reader().Subagents(t.Context(), captured(t, name), time.Time{})
		require.NoError(t, err)
		require.Len(t, found, 2, name)
		stoppedAt, err := time.Parse(time.RFC3339, stoppedIn)
		require.NoError(t, err)
		abouts := []string{found[0].About, found[1].About}
		require.ElementsMatch(t, []string{"Look at part 1", "Look at part 2"}, abouts, name)
		for _, one := range found {
			require.Equal(t, "general-purpose", one.Kind)
			require.Equal(t, limit.UsageLimit, one.Class)
			require.WithinDuration(t, stoppedAt, one.At, 2*time.Second, name)
			require.Equal(t, time.Hour, one.Reset.Sub(one.At).Round(time.Minute), "the provider said an hour")
			require.Regexp(t, `^a[0-9a-f]{16}$`, one.ID)
		}
	}
}

func TestSubagentsThatDoNotMatter(t *testing.T) {
	from := captured(t, "went-on")
	old, err := reader().Subagents(t.Context(), from, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Empty(t, old, "they were stopped before the session's current work")

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Dir(from))))
	main := filepath.Join(dir, filepath.Base(from))
	children, err := filepath.Glob(filepath.Join(dir, "*", "subagents", "*.jsonl"))
	require.NoError(t, err)
	f, err := os.OpenFile(children[0], os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(`{"isSidechain":true,"type":"assistant","timestamp":"2026-11-17T15:00:00.000Z","message":{"model":"claude-sonnet-5-5","content":[]}}` + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	left, err := reader().Subagents(t.Context(), main, time.Time{})
	require.NoError(t, err)
	require.Len(t, left, 1, "one of them has continued")

	none, err := reader().Subagents(t.Context(), filepath.Join(dir, "other.jsonl"), time.Time{})
	require.NoError(t, err)
	require.Empty(t, none)
}

// The end of a subagent is no event of its session: what decides is the last record of the session itself.
func TestTheEndOfASubagentInItsSession(t *testing.T) {
	counts := map[string]int{}
	rd := reader()
	require.NoError(t, lines.Back(t.Context(), captured(t, "went-on"), func(line lines.Line) bool {
		if o, ok := rd.Read(line); ok {
			switch o.Event.(type) {
			case resume.SubagentEnded:
				counts["ended"]++
			case resume.Prompted:
				counts["prompted"]++
			case resume.Limited:
				counts["limited"]++
			}
		}
		return true
	}))
	require.Equal(t, map[string]int{"ended": 2, "prompted": 1}, counts)
}
