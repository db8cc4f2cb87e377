package copilot

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

var copiedAt = time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)

// agentRoom has events that a real GitHub Copilot CLI wrote.
const agentRoom = "../../agent/copilot"

type captured struct {
	Case string `json:"case"`
	File string `json:"file"`
}

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	for name, want := range map[string]struct {
		session string
		class   limit.Class
	}{
		"auth401": {"0b5aa8b0-d8d4-4e7d-9dbe-92d823b6be3c", limit.Auth},
		"ok":      {"01b6b137-e2de-4fb7-a6de-29cbe2f64a0f", limit.None},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "stdout", name+".jsonl"))
		require.NoError(t, err)
		for _, rec := range []headless.Recording{{Text: string(data), At: copiedAt}, {Beside: string(data), At: copiedAt}} {
			report, ok := newReader().Recorded(rec)
			require.True(t, ok)
			require.Equal(t, want.session, report.Told[0].Session)
			require.Equal(t, want.class.String(), agenttest.ClassOf(report.Told[0].Event).String())
			require.Equal(t, rec.Text == "", report.Told[0].Beside)
		}
	}
	_, ok := newReader().Recorded(headless.Recording{Text: `{"type":"session.error","data":{"message":"429"}}`, At: copiedAt})
	require.False(t, ok, "a record without an id is anybody's")
}

func TestEventsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, "testdata", filepath.FromSlash(c.File)))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"type":"session.start","data":{"sessionId":"1f5b6930-90d5-42d3-b422-4a4abfc38b59"}}`+"\n")))
}

func FuzzRecorded(f *testing.F) {
	paths, _ := filepath.Glob("testdata/stdout/*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		report, _ := newReader().Recorded(headless.Recording{Text: text, At: copiedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
			}
		}
	})
}
