package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// agentRoom has the rollouts of the same sessions.
const agentRoom = "../../agent/codex"

// captured is one rollout that a real Codex wrote, and what it means.
type captured struct {
	Case    string      `json:"case"`
	File    string      `json:"file"`
	Class   limit.Class `json:"class"`
	ResetAt time.Time   `json:"reset_at"`
	Session string      `json:"session"`
	Cwd     string      `json:"cwd"`
}

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

// copiedAt is when the captures were copied, hours after they were made.
var copiedAt = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

func recorded(t testing.TB, name string, at time.Time) recording.Report {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "recordings", name))
	require.NoError(t, err)
	report, ok := newReader().Recorded(headless.Recording{Text: string(data), At: at})
	require.True(t, ok, "it is not recognised")
	require.NotEmpty(t, report.Told)
	return report
}

// The output of a run also has what rollouts of its version lack.
func TestWhatARunPrintsTellsWhatItsRolloutDoes(t *testing.T) {
	found := 0
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		for _, format := range []string{".exec-json.jsonl", ".stderr.txt"} {
			if _, err := os.Stat(filepath.Join("testdata", "recordings", c.Case+format)); err != nil {
				continue
			}
			found++
			t.Run(c.Case+format, func(t *testing.T) {
				report := recorded(t, c.Case+format, copiedAt)
				require.Equal(t, recording.RunOutput, report.Kind)
				require.Len(t, report.Told, 1)
				told := report.Told[0]
				if format == ".exec-json.jsonl" {
					require.Equal(t, c.Session, told.Session)
				} else {
					require.True(t, agent.IsUUID(told.Session), told.Session)
					require.Equal(t, c.Cwd, told.Cwd)
				}
				if c.Class == limit.Cancelled {
					c.Class = limit.None // a run that is cut off prints nothing more
				}
				require.Equal(t, c.Class.String(), agenttest.ClassOf(told.Event).String())
				got, limited := told.Event.(resume.Limited)
				if !limited {
					return
				}
				require.False(t, got.InProgress)
				require.NotEmpty(t, got.Text)
				require.Positive(t, told.Line)
				if c.Class == limit.UsageLimit && !c.ResetAt.IsZero() && got.Reset.Stated() {
					require.WithinDuration(t, c.ResetAt, got.Reset.At, time.Minute)
				}
			})
		}
	}
	require.Greater(t, found, 50)
}

// A session that began yesterday may be refused today.
func TestAnExactTimeIsNotDoubted(t *testing.T) {
	data, err := os.ReadFile("testdata/recordings/v0.150.0_429_usage_limit.exec-json.jsonl")
	require.NoError(t, err)
	told, ok := Reader.With(limit.Reader{Zone: time.UTC, Grace: time.Minute}).Printed(headless.Recording{Text: string(data), At: copiedAt, Exact: true})
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 11, 16, 1, 16, 0, 0, time.UTC), told.Event.(resume.Limited).Reset.At)
}

func TestARunThatIsTryingAgainIsInProgress(t *testing.T) {
	for _, name := range []string{"503_slow_down.exec-json.jsonl", "500.stderr.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", "recordings", name))
		require.NoError(t, err)
		text, _, found := strings.Cut(string(data), "2/2")
		require.True(t, found)
		report, ok := newReader().Recorded(headless.Recording{Text: text[:strings.LastIndexByte(text, '\n')], At: copiedAt})
		require.True(t, ok)
		got := report.Told[0].Event.(resume.Limited)
		require.True(t, got.InProgress, name)
		require.True(t, got.Class.Transient(), name)
	}
}

func TestAScreenTellsHowTheLastTurnEnded(t *testing.T) {
	const none = limit.None
	for name, want := range map[string]struct {
		class   limit.Class
		working bool
		says    string
	}{
		"tui_401":                     {limit.Auth, false, "https://platform.openai.com/account/api-keys., url"},
		"tui_429_no_retry_after":      {limit.RateLimit, false, "exceeded retry limit"},
		"tui_429_retry_after_waiting": {none, true, ""},
		"tui_500":                     {limit.ServerError, false, "high demand"},
		"tui_after_modal_enter":       {limit.UsageLimit, false, "hit your usage limit"}, // the limit still applies, whatever was chosen since
		"tui_connection_refused":      {limit.Network, true, "waiting for network"},
		"tui_context_overflow":        {limit.ContextOverflow, false, "ran out of room"},
		"tui_interrupted":             {limit.Cancelled, false, ""},
		"tui_overloaded":              {limit.Overloaded, false, "at capacity"},
		"tui_queue_cmd_while_waiting": {none, true, ""},
		"tui_queue_while_waiting":     {none, false, ""},
		"tui_reset_midstream":         {limit.Network, false, "stream disconnected"},
		"tui_resume_after_cwd_choice": {none, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			report := recorded(t, name+".screen.txt", copiedAt)
			require.Equal(t, recording.Screen, report.Kind)
			told := report.Told[0]
			require.Equal(t, want.class.String(), agenttest.ClassOf(told.Event).String())
			require.Equal(t, want.working, told.Working)
			require.Equal(t, "/home/dev/src", told.Cwd)
			got, _ := told.Event.(resume.Limited)
			require.Contains(t, got.Text, want.says)
			require.Equal(t, want.class != none && want.working, got.InProgress)
		})
	}
}

func TestTheQuestionAfterAUsageLimitHidesNothing(t *testing.T) {
	text, err := os.ReadFile("testdata/recordings/tui_after_modal_enter.screen.txt")
	require.NoError(t, err)
	above, _, found := strings.Cut(string(text), "\n\n\n\n\n\n")
	require.True(t, found)
	above += "\n\n  Approaching rate limits\n  Switch to gpt-6-luna for lower credit usage?\n\n" +
		"› 1. Switch to gpt-6-luna                      Fast and affordable\n  2. Keep current model\n" +
		"  3. Keep current model (never show again)\n\n  enter select · esc back\n"
	report, ok := newReader().Recorded(headless.Recording{Text: above, At: time.Date(2026, 11, 15, 0, 6, 0, 0, time.UTC)})
	require.True(t, ok)
	got := report.Told[0].Event.(resume.Limited)
	require.Equal(t, limit.UsageLimit, got.Class)
	require.Equal(t, time.Date(2026, 11, 15, 1, 5, 0, 0, time.UTC), got.Reset.At)
	require.Contains(t, got.Text, "https://chatgpt.com/settings/usage to purchase")
}

// For the copy of a screen, the clock time on it counts.
func TestTheClockOnAScreenCounts(t *testing.T) {
	text, err := os.ReadFile("testdata/recordings/tui_429_no_retry_after.screen.txt")
	require.NoError(t, err)
	limited := strings.Replace(string(text), "exceeded retry limit, last status: 429 Too Many Requests, request id: req_fake_e5d5c8e5",
		"You’ve hit your usage limit. Try again at 1:14 AM.", 1)
	report, ok := Reader.With(limit.Reader{Zone: time.UTC, Grace: time.Minute}).Recorded(headless.Recording{Text: limited, At: copiedAt})
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 11, 15, 1, 14, 0, 0, time.UTC), report.Told[0].Event.(resume.Limited).Reset.At)
}

func TestAnAppServerTellsOfEachSession(t *testing.T) {
	report := recorded(t, "appserver_turn_failed.events.jsonl", copiedAt)
	require.Len(t, report.Told, 2)
	stopped, tries := report.Told[0], report.Told[1]
	require.Equal(t, "01a1dc87-9a19-7ab1-9e1c-9432946b4d3d", stopped.Session)
	got := stopped.Event.(resume.Limited)
	require.Equal(t, limit.UsageLimit, got.Class)
	require.Equal(t, limit.Reset{At: time.Unix(1794704998, 0).UTC(), Source: limit.Structured}, got.Reset)
	require.Equal(t, "01a1dc85-81f7-79e2-81c3-d1aca1180b9c", tries.Session)
	got = tries.Event.(resume.Limited)
	require.Equal(t, limit.RateLimit, got.Class)
	require.True(t, got.InProgress)

	require.Nil(t, recorded(t, "appserver_rateLimits_read.json", copiedAt).Told[0].Event, "an answer about limits stops nobody")
}

func TestHooksAreToldOfNoFailure(t *testing.T) {
	report := recorded(t, "hooks_and_notify.log", copiedAt)
	require.Equal(t, recording.HookCalls, report.Kind)
	require.Len(t, report.Told, 2)
	require.Equal(t, limit.None, agenttest.ClassOf(report.Told[0].Event))
	require.Equal(t, limit.None, agenttest.ClassOf(report.Told[1].Event))
	require.Equal(t, "/home/dev/src", report.Told[1].Cwd)
}

func TestAnothersRecordingIsNotCodexs(t *testing.T) {
	for rule, text := range map[string]string{
		"words":       "ERROR: You've hit your usage limit.\n",
		"a list":      "› one\n› two\n",
		"JSON":        `{"type":"error","message":"Reconnecting... 1/2"}`,
		"a JSON-RPC":  `{"id":1,"method":"textDocument/didOpen","params":{}}`,
		"nothing":     "",
		"its program": "codex-cli 0.166.0",
	} {
		t.Run(rule, func(t *testing.T) {
			_, ok := newReader().Recorded(headless.Recording{Text: text, At: copiedAt})
			require.False(t, ok)
		})
	}
}

func TestARolloutIsRecognisedByItsBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, "testdata", "rollouts", c.File))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data[:min(len(data), 300)]), c.Case)

		var first map[string]any
		require.NoError(t, json.NewDecoder(bytes.NewReader(data)).Decode(&first))
		byName, err := json.Marshal(first)
		require.NoError(t, err)
		require.True(t, newReader().Recognises(byName), "%s, with its fields in another order", c.Case)
	}
	for _, head := range []string{
		"", "hello", `{"type":"user","sessionId":"x","message":{}}`, `{"type":"event_msg"}`,
		`{"kind":"main","messages":[]}`, `{"type":"session_meta"}`,
	} {
		require.False(t, newReader().Recognises([]byte(head)), head)
	}
}

func FuzzRecorded(f *testing.F) {
	paths, _ := filepath.Glob("testdata/recordings/*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(string(data))
	}
	r := newReader()
	f.Fuzz(func(t *testing.T, text string) {
		report, _ := r.Recorded(headless.Recording{Text: text, At: copiedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
			require.LessOrEqual(t, told.Line, strings.Count(text, "\n")+1)
		}
	})
}
