package qwen

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

var copiedAt = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

// agentRoom has chats that a real Qwen Code wrote.
const agentRoom = "../../agent/qwen"

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
		"0.15.10-auth401":  {"a1625c6c-82e3-4c4a-8be3-d402ce1d40fb", limit.Auth},
		"0.15.10-ok":       {"90145fbb-f164-420d-b85f-cfa5370efd0e", limit.None},
		"0.24.4-auth401":   {"794d5a94-12a6-4c67-a0bd-7ea258496760", limit.Auth},
		"0.24.4-ok":        {"c4215749-34cf-486d-87bb-9d4685532c82", limit.None},
		"0.24.4-usage_far": {"6e6faec3-9b19-4907-bdc9-bf24ad0a6e68", limit.None}, // killed before it printed anything
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "stdout", name+".jsonl"))
			require.NoError(t, err)
			report, ok := newReader().Recorded(headless.Recording{Text: string(data), At: copiedAt})
			require.True(t, ok)
			require.Equal(t, want.session, report.Told[0].Session)
			require.Equal(t, want.class.String(), agenttest.ClassOf(report.Told[0].Event).String())
		})
	}
}

func TestPlainTextTellsOfAFailureAsItsLastLine(t *testing.T) {
	r := newReader()
	told, ok := r.Printed(headless.Recording{Text: "[API Error: 401 Incorrect API key provided: dummy.]\n", At: copiedAt})
	require.True(t, ok)
	require.Equal(t, limit.Auth, agenttest.ClassOf(told.Event))
	_, ok = r.Printed(headless.Recording{Text: "The text [API Error: 401] means that a key is wrong.", At: copiedAt})
	require.False(t, ok)
}

func TestChatsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, "testdata", filepath.FromSlash(c.File)))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"type":"user","sessionId":"1f5b6930-90d5-42d3-b422-4a4abfc38b59",`+
		`"uuid":"6d804a60-8772-4f41-bd83-af79b5db3f2c","version":"2.1.3","message":{"role":"user","content":"hi"}}`+"\n")))
}

func FuzzRecorded(f *testing.F) {
	paths, _ := filepath.Glob("testdata/stdout/*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(data))
	}
	r := Reader.With(limit.Reader{Zone: time.UTC})
	f.Fuzz(func(t *testing.T, text string) {
		report, _ := r.Recorded(headless.Recording{Text: text, At: copiedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
		}
	})
}
