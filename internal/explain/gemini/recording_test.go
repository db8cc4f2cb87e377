package gemini

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	room "resumed/internal/agent/gemini"
	"resumed/internal/agenttest"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// agentRoom has chats that a real Gemini CLI wrote.
const agentRoom = "../../agent/gemini"

type captured struct {
	Case   string `json:"case"`
	File   string `json:"file"`
	Silent bool   `json:"silent"` // the file does not contain what stopped it
}

func (c captured) path() string {
	return filepath.Join(agentRoom, "testdata", filepath.FromSlash(c.File))
}

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

var copiedAt = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

func streamOf(t testing.TB, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", "run", name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(data) // nothing was printed there
}

func TestTheStreamsOfARunTellHowItEnded(t *testing.T) {
	for name, want := range map[string]struct {
		class  limit.Class
		goesOn bool
		hidden bool // only on this stream
	}{
		"capacity.stdout":    {class: limit.Overloaded},
		"capacity.stderr":    {class: limit.Overloaded},
		"ctx400.stdout":      {class: limit.ContextOverflow},
		"ctx400.stderr":      {class: limit.ContextOverflow},
		"empty.stdout":       {class: limit.ServerError},
		"key_invalid.stdout": {class: limit.Auth},
		"key_invalid.stderr": {class: limit.Auth},
		"mid_err.stdout":     {class: limit.Network},
		"mid_reset.stdout":   {class: limit.Network},
		"mid_reset.stderr":   {class: limit.Network},
		"nf404.stdout":       {class: limit.BadRequest},
		"nf404.stderr":       {class: limit.BadRequest},
		"reskilled.stdout":   {},
		"rl_2s.stdout":       {class: limit.RateLimit, goesOn: true, hidden: true},
		"rl_2s.stderr":       {class: limit.RateLimit, goesOn: true},
		"rl_plain.stdout":    {class: limit.RateLimit},
		"rl_plain.stderr":    {class: limit.RateLimit},
		"s500.stdout":        {class: limit.ServerError, goesOn: true, hidden: true},
		"s500.stderr":        {class: limit.ServerError, goesOn: true},
		"s503.stdout":        {class: limit.Overloaded},
		"s503.stderr":        {class: limit.Overloaded},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReader()
			other := strings.NewReplacer("stdout", "stderr", "stderr", "stdout").Replace(name)
			rec := headless.Recording{Text: streamOf(t, name), At: copiedAt}
			if want.hidden {
				report, ok := r.Recorded(rec)
				require.True(t, ok)
				require.Equal(t, limit.None, agenttest.ClassOf(report.Told[0].Event))
			}
			if want.hidden || strings.HasSuffix(name, "stderr") {
				rec.Beside = streamOf(t, other)
			}
			report, ok := r.Recorded(rec)
			require.True(t, ok)
			require.Equal(t, recording.RunOutput, report.Kind)
			told := report.Told[0]
			require.Equal(t, want.class.String(), agenttest.ClassOf(told.Event).String())
			require.NotEmpty(t, told.Session)
			got, limited := told.Event.(resume.Limited)
			require.Equal(t, want.goesOn, got.InProgress)
			require.Equal(t, limited && want.class.Transient(), got.WaitHelps)
			require.False(t, got.Reset.Stated(), "no time is said: %v", got.Reset)
			require.Equal(t, want.hidden || want.class == limit.None && rec.Beside != "", told.Beside, "its own words come first")
		})
	}
}

func TestAQuotaTellsWhenItLifts(t *testing.T) {
	at := time.Date(2026, 11, 15, 0, 20, 45, 0, time.UTC)
	for _, name := range []string{"hook_quota_long.stderr", "client-error-report-quota_long.json"} {
		told, ok := newReader().Recorded(headless.Recording{Text: streamOf(t, name), At: at})
		require.True(t, ok, name)
		got := told.Told[0].Event.(resume.Limited)
		require.Equal(t, limit.UsageLimit, got.Class, name)
		require.WithinDuration(t, at.Add(11520*time.Second), got.Reset.At, time.Second, name)
	}
}

// The file name of the report has the time of the failure.
func TestACopyOfWordsKeepsTheirTime(t *testing.T) {
	text, _, _ := strings.Cut(streamOf(t, "hook_quota_long.stderr"), "{\n  \"session_id\"")
	told, ok := newReader().Recorded(headless.Recording{Text: text, At: copiedAt})
	require.True(t, ok)
	got := told.Told[0].Event.(resume.Limited)
	require.Equal(t, time.Date(2026, 11, 15, 3, 32, 45, 0, time.UTC), got.Reset.At)
}

func TestPlainTextTellsOfAFailureAsItsLastLine(t *testing.T) {
	r := newReader()
	told, ok := r.Printed(headless.Recording{Text: "Thinking.\n[API Error: terminated]\n", At: copiedAt})
	require.True(t, ok)
	require.Equal(t, limit.Network, agenttest.ClassOf(told.Event))
	require.Equal(t, 2, told.Line)
	told, ok = r.Printed(headless.Recording{Text: "[API Error: You exceeded your current quota, please check your plan and billing details.\n" +
		"Suggested retry after 11520s.]\nPlease wait and try again later. To increase your limits, request a quota increase.\n", At: copiedAt})
	require.True(t, ok)
	require.Equal(t, copiedAt.Add(11520*time.Second), told.Event.(resume.Limited).Reset.At)
	for _, text := range []string{"[API Error: 401] is what it says.", "[API Error: terminated]\nis over, and all is well.", "The text [API Error: 401] means that a key is wrong.", "done", ""} {
		_, ok = r.Printed(headless.Recording{Text: text, At: copiedAt})
		require.False(t, ok)
	}
}

func TestJSONOutputIsOneDocument(t *testing.T) {
	r := newReader()
	report, ok := r.Recorded(headless.Recording{Text: "{\n  \"session_id\": \"4f2a-1\",\n  \"response\": \"done\",\n  \"stats\": {}\n}\n", At: copiedAt})
	require.True(t, ok)
	require.Equal(t, resume.Progressed{At: copiedAt}, report.Told[0].Event)
	require.Equal(t, "4f2a-1", report.Told[0].Session)
}

func TestHooksAreToldOfNoFailure(t *testing.T) {
	report, ok := newReader().Recorded(headless.Recording{Text: streamOf(t, "hooks.log"), At: copiedAt})
	require.True(t, ok)
	require.Equal(t, recording.HookCalls, report.Kind)
	require.Equal(t, limit.None, agenttest.ClassOf(report.Told[0].Event))
	require.NotEmpty(t, report.Told[0].Cwd)
}

func TestChatsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data[:min(len(data), 300)]), c.Case)
	}
	require.False(t, newReader().Recognises([]byte(`{"sessionId":"1f5b6930-90d5-42d3-b422-4a4abfc38b59","type":"user","uuid":"x"}`+"\n")))
	require.False(t, newReader().Recognises([]byte("plain text\n")))
}

// The note says what a chat cannot contain, and appears only there.
func TestSilentChatsHaveANote(t *testing.T) {
	made, err := room.Builtin.New(agent.Options{Roots: []string{"/x/.gemini"}})
	require.NoError(t, err)
	a := made.(agent.FileAgent)
	noteOf := func(chat string) string {
		last, _, err := agent.Last(t.Context(), a, a.Sources()[0], chat)
		require.NoError(t, err)
		return newReader().Note(chat, last.Event)
	}
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		note := noteOf(c.path())
		if c.Silent {
			require.Contains(t, note, "only `resumed exec` can", c.Case)
		} else {
			require.Empty(t, note, c.Case)
		}
	}
	require.Contains(t, noteOf(filepath.Join(agentRoom, "testdata", "chats", "stub.jsonl")), "no conversation")
}

func FuzzRecorded(f *testing.F) {
	paths, _ := filepath.Glob("testdata/run/*")
	for _, path := range paths {
		f.Add(streamOf(f, filepath.Base(path)), "")
	}
	r := newReader()
	f.Fuzz(func(t *testing.T, text, beside string) {
		report, _ := r.Recorded(headless.Recording{Text: text, Beside: beside, At: copiedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
		}
	})
}
