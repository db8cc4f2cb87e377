package transcript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/lines"
	"resumed/internal/resume"
)

func TestTheSizeOfTheContextIsReadFromTheLastAnswer(t *testing.T) {
	a := &newReading().lines
	got, known, err := a.ContextSize(t.Context(), resume.Session{Transcript: "../testdata/transcripts/p-ok.jsonl"})
	require.NoError(t, err)
	require.True(t, known)
	require.EqualValues(t, 1020, got.Tokens)
	require.Equal(t, 5*time.Minute, got.Warm)
	require.WithinDuration(t, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), got.At, 24*time.Hour)

	f, err := os.Open("../testdata/transcripts/p-ok.jsonl")
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	at, known := a.WeighAt(lines.Line{Path: f.Name(), Offset: info.Size(), ModTime: info.ModTime()})
	require.True(t, known)
	require.Equal(t, got, at, "the line after it tells the same")
	_, known = a.WeighAt(lines.Line{Path: f.Name(), Offset: 2})
	require.False(t, known, "nothing stands before it")
}

// Who reads a line while others wait does not go back far.
func TestAnAnswerThatIsFarAwayIsLookedForLater(t *testing.T) {
	a := &newReading().lines
	const answer = `{"type":"assistant","timestamp":"2026-11-15T00:00:00Z","message":{"usage":{"input_tokens":7}}}` + "\n"
	for name, c := range map[string]struct {
		between string
		known   bool
	}{
		"right before": {"", true},
		"near":         {strings.Repeat("{}\n", 100), true},
		"far away":     {`{"type":"user","message":"` + strings.Repeat("x", 1<<20) + `"}` + "\n", false},
		"many lines":   {strings.Repeat(`{"type":"user"}`+"\n", 1<<16), false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(answer+c.between), 0o600))
			got, known := a.WeighAt(lines.Line{Path: path, Offset: int64(len(answer) + len(c.between))})
			require.Equal(t, c.known, known)
			if c.known {
				require.EqualValues(t, 7, got.Tokens)
			}
			later, known, err := a.ContextSize(t.Context(), resume.Session{Transcript: path})
			require.NoError(t, err)
			require.Equal(t, name != "many lines", known)
			if known {
				require.EqualValues(t, 7, later.Tokens)
			}
		})
	}
}
