package kimi

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

// agentRoom has what sessions of a real Kimi Code wrote.
const agentRoom = "../../agent/kimi"

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	for name, class := range map[string]limit.Class{
		"auth401": limit.Auth, "allowance_403": limit.UsageLimit, "overloaded": limit.Overloaded, "throttled": limit.RateLimit,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "stdout", name+".txt"))
		require.NoError(t, err)
		for _, rec := range []headless.Recording{{Text: string(data), At: copiedAt}, {Beside: string(data), At: copiedAt}} {
			report, ok := newReader().Recorded(rec)
			require.True(t, ok)
			require.Equal(t, class.String(), agenttest.ClassOf(report.Told[0].Event).String(), name)
			require.Equal(t, rec.Text == "", report.Told[0].Beside)
			require.Equal(t, 2, report.Told[0].Line)
		}
	}
	_, ok := newReader().Recorded(headless.Recording{Text: "• All done.\n", Beside: "kimi version 2.1.0\nTo resume this session: kimi -r x\n", At: copiedAt})
	require.False(t, ok, "a run that came to an end says nothing of a failure")
}

func TestRecordsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[agenttest.Captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, c.Path()))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"type":"metadata","version":1}`+"\n")))
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
