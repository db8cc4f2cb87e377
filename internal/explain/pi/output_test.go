package pi

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
)

var copiedAt = time.Date(2026, 11, 17, 16, 0, 0, 0, time.UTC)

// agentRoom has sessions that a real pi wrote.
const agentRoom = "../../agent/pi"

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

func TestWhatARunPrintsTellsHowItEnded(t *testing.T) {
	for name, want := range map[string]struct {
		session string
		class   limit.Class
	}{
		"auth401": {"01a1ea0f-e995-7670-8926-d2a5a89f9c71", limit.Auth},
		"ok":      {"01a1ea0f-e2aa-7764-89f6-eefdc093742b", limit.None},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "stdout", name+".jsonl"))
		require.NoError(t, err)
		for _, rec := range []headless.Recording{{Text: string(data), At: copiedAt}, {Beside: string(data), At: copiedAt}} {
			report, ok := newReader().Recorded(rec)
			require.True(t, ok)
			require.Equal(t, want.session, report.Told[0].Session)
			require.Equal(t, "/home/u/src/shop", report.Told[0].Cwd)
			require.Equal(t, want.class.String(), agenttest.ClassOf(report.Told[0].Event).String())
		}
	}
	_, ok := newReader().Recorded(headless.Recording{Text: `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"429"}}`, At: copiedAt})
	require.False(t, ok, "a record without a session is anybody's")
}

func TestSessionsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[agenttest.Captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, c.Path()))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"type":"session","id":"1"}`+"\n")))
}
