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

func TestTheLastLineOfARunTellsWhyItFailed(t *testing.T) {
	const refused = `429: {"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}`
	for text, want := range map[string]limit.Class{
		refused + "\n":                limit.RateLimit,
		"Warning: a word\n" + refused: limit.RateLimit,
		`529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n": limit.Overloaded,
		refused + "\nThat is what the log says.\n":                                                 limit.None,
		"The tests pass.\n": limit.None,
	} {
		report, ok := newReader().Recorded(headless.Recording{Beside: text, At: copiedAt})
		require.Equal(t, want != limit.None, ok, text)
		if ok {
			require.Equal(t, want.String(), agenttest.ClassOf(report.Told[0].Event).String())
		}
	}
}

func TestSessionsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[agenttest.Captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, c.Path()))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"type":"session","id":"1"}`+"\n")))
}
