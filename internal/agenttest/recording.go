package agenttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// CopiedAt is when the recordings of tests were copied.
var CopiedAt = time.Date(2026, 11, 17, 16, 0, 0, 0, time.UTC)

// Reader returns a reader for the captures: its clock times without a zone are UTC.
func Reader(r recording.Reader) recording.Reader {
	return r.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

// Printed is what the output of a run says.
type Printed struct {
	Session, Cwd string // "": nothing
	Class        limit.Class
	Line         int // 0: it is not checked
}

// Runs checks what a reader says about the files in testdata/stdout, on either stream.
func Runs(t *testing.T, r recording.Reader, want map[string]Printed) {
	t.Helper()
	for name, want := range want {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "stdout", name))
			require.NoError(t, err)
			for _, rec := range []headless.Recording{{Text: string(data), At: CopiedAt}, {Beside: string(data), At: CopiedAt}} {
				report, ok := Reader(r).Recorded(rec)
				require.True(t, ok)
				told := report.Told[0]
				require.Equal(t, want.Session, told.Session)
				require.Equal(t, want.Cwd, told.Cwd)
				require.Equal(t, want.Class.String(), ClassOf(told.Event).String())
				require.Equal(t, rec.Text == "", told.Beside)
				if want.Line > 0 {
					require.Equal(t, want.Line, told.Line)
				}
			}
		})
	}
}

// Recognised checks that a reader recognises all captured transcripts of the agent's room by their beginning, and not
// the other text.
func Recognised(t *testing.T, r recording.Reader, room, other string) {
	t.Helper()
	for _, c := range Cases[Captured](t, room) {
		data, err := os.ReadFile(filepath.Join(room, c.Path()))
		require.NoError(t, err)
		require.True(t, Reader(r).Recognises(data), c.Case)
	}
	require.False(t, Reader(r).Recognises([]byte(other+"\n")))
}

// FuzzRecorded checks that any text is interpreted or refused, and that a refusal has a class.
func FuzzRecorded(f *testing.F, r recording.Reader) {
	f.Helper()
	paths, _ := filepath.Glob("testdata/stdout/*") // errs on a bad pattern only
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		report, _ := Reader(r).Recorded(headless.Recording{Text: text, At: CopiedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
		}
	})
}
