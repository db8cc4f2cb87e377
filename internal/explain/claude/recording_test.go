package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/explain/recording"
	"resumed/internal/headless"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// agentRoom has the transcripts of the same sessions, and the screens that the daemon reads too.
const agentRoom = "../../agent/claude"

// captured is one transcript that a real Claude Code wrote, and what it means.
type captured struct {
	Case      string      `json:"case"`
	File      string      `json:"file"`
	Class     limit.Class `json:"class"`
	WaitHelps *bool       `json:"wait_helps"`
	ResetAt   time.Time   `json:"reset_at"`
	Session   string      `json:"session"`
	Text      string      `json:"text"`
}

// newReader has the zone of the captures: clock times without a zone are UTC.
func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

// recordedAt is when the captures were made; clock times are relative to it.
var recordedAt = time.Date(2026, 11, 15, 0, 25, 0, 0, time.UTC)

func recorded(t testing.TB, path string) (recording.Told, string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	report, ok := newReader().Recorded(headless.Recording{Text: string(data), At: recordedAt})
	require.True(t, ok, "it is not recognised")
	require.Len(t, report.Told, 1)
	return report.Told[0], report.Kind
}

func TestWhatARunPrintsTellsWhatItsTranscriptDoes(t *testing.T) {
	found := 0
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		paths, err := filepath.Glob("testdata/stdout/" + c.Case + ".*json")
		require.NoError(t, err)
		if len(paths) == 0 {
			continue // an interactive one
		}
		found++
		t.Run(c.Case, func(t *testing.T) {
			told, kind := recorded(t, paths[0])
			require.Equal(t, recording.RunOutput, kind)
			require.Equal(t, c.Session, told.Session)
			if c.Case == "n-midhang-default" {
				c.Class = limit.Cancelled // the transcript does not contain it
			}
			require.Equal(t, c.Class.String(), agenttest.ClassOf(told.Event).String())
			got, limited := told.Event.(resume.Limited)
			if !limited {
				return
			}
			require.Equal(t, c.Text, got.Text)
			require.False(t, got.InProgress)
			require.Positive(t, told.Line)
			if !c.ResetAt.IsZero() && c.Case != "u-fromnow23h" { // almost a day ahead cannot be told from just past
				require.WithinDuration(t, c.ResetAt, got.Reset.At, time.Minute)
			}
			if c.WaitHelps != nil {
				require.Equal(t, *c.WaitHelps, got.WaitHelps)
			}
		})
	}
	require.Greater(t, found, 50)
}

func TestAWindowOfFiveHoursOpensWithinFiveHours(t *testing.T) {
	data, err := os.ReadFile("testdata/stdout/u5h-tzNY.json") // resets 9:13pm (America/New_York)
	require.NoError(t, err)
	reset := time.Date(2026, 11, 15, 2, 13, 0, 0, time.UTC)
	r := Reader.With(limit.Reader{Zone: time.UTC, Grace: time.Minute})
	for rule, c := range map[string]struct {
		rec  headless.Recording
		want time.Time
	}{
		"as it was printed":          {headless.Recording{At: recordedAt}, reset},
		"a copy of the next morning": {headless.Recording{At: recordedAt.Add(8 * time.Hour)}, reset},
		"a time that is known":       {headless.Recording{At: recordedAt.Add(8 * time.Hour), Exact: true}, reset.AddDate(0, 0, 1)},
	} {
		t.Run(rule, func(t *testing.T) {
			c.rec.Text = string(data)
			report, ok := r.Recorded(c.rec)
			require.True(t, ok)
			require.Equal(t, c.want, report.Told[0].Event.(resume.Limited).Reset.At.UTC())
		})
	}
}

func TestARunThatIsTryingAgainIsInProgress(t *testing.T) {
	data, err := os.ReadFile("testdata/stdout/p529.stream-json")
	require.NoError(t, err)
	lines := strings.SplitAfter(string(data), "\n")
	report, ok := newReader().Recorded(headless.Recording{Text: lines[0] + lines[1], At: recordedAt})
	require.True(t, ok)
	got := report.Told[0].Event.(resume.Limited)
	require.Equal(t, limit.Overloaded, got.Class)
	require.True(t, got.InProgress)
	require.Equal(t, "/home/dev/src/p529", report.Told[0].Cwd)
}

func TestASubagentsFailureIsNotTheRuns(t *testing.T) {
	data, err := os.ReadFile("testdata/stdout/s-agent-u5h.stream-json")
	require.NoError(t, err)
	text, _, found := strings.Cut(string(data), `"subtype":"task_updated"`)
	require.True(t, found)
	require.Contains(t, text, "is_api_error_message", "the subagent's")
	report, ok := newReader().Recorded(headless.Recording{Text: text, At: recordedAt})
	require.True(t, ok)
	require.Equal(t, limit.None, agenttest.ClassOf(report.Told[0].Event))
}

func TestHooksTellWhyATurnFailed(t *testing.T) {
	for path, want := range map[string]limit.Class{
		"hooks/key-529.StopFailure.json":                  limit.Overloaded,
		"hooks/oauth-uni_five_hour_7200.StopFailure.json": limit.UsageLimit,
		"hooks/resume.Stop.json":                          limit.None,
	} {
		t.Run(path, func(t *testing.T) {
			told, kind := recorded(t, "testdata/"+path)
			require.Equal(t, recording.HookCalls, kind)
			require.Equal(t, want.String(), agenttest.ClassOf(told.Event).String())
			require.NotEmpty(t, told.Session)
			require.NotEmpty(t, told.Cwd)
		})
	}
}

func TestAScreenTellsHowTheLastTurnEnded(t *testing.T) {
	clock := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04", "2026-11-"+text)
		require.NoError(t, err)
		return at
	}
	for name, want := range map[string]struct {
		class   limit.Class
		reset   time.Time
		goesOn  bool
		working bool
	}{
		"429-apikey-ra120":                   {class: limit.RateLimit},
		"429-apikey-ra20-waiting":            {working: true},
		"529-final":                          {class: limit.Overloaded},
		"529-retrying":                       {working: true},
		"api-key-dialog":                     {},
		"cancel-ctrlc-in-retry":              {class: limit.Cancelled},
		"cancel-esc":                         {class: limit.Cancelled},
		"first-run-no-network":               {class: limit.Network},
		"interactive-resume-after-limit":     {class: limit.UsageLimit, reset: clock("15 00:19")},
		"interactive-resume-with-prompt":     {},
		"interactive-resume":                 {},
		"ok":                                 {},
		"prompt-idle":                        {},
		"rate-limit-options":                 {class: limit.Cancelled},
		"sigterm-while-armed":                {},
		"trust-dialog":                       {},
		"usage-5h-after-tool":                {class: limit.UsageLimit, reset: clock("15 00:19"), goesOn: true},
		"usage-5h-oauth":                     {class: limit.UsageLimit, reset: clock("15 02:02"), goesOn: true},
		"usage-5h-second-hit":                {class: limit.UsageLimit, reset: clock("15 02:37"), goesOn: true},
		"usage-5h-typed-while-armed":         {},
		"usage-5h-with-statusline":           {class: limit.UsageLimit, reset: clock("15 02:10"), goesOn: true},
		"usage-warning":                      {},
		"usage-weekly-after-typing-continue": {class: limit.UsageLimit, reset: clock("18 03:06")},
		"usage-weekly-continued":             {},
		"usage-weekly-menu":                  {class: limit.UsageLimit, reset: clock("18 05:53")},
		"v197-529-typed":                     {class: limit.Overloaded},
		"v197-529-typed-effort":              {class: limit.Overloaded},
		"v197-usage-5h":                      {class: limit.UsageLimit, reset: clock("15 02:20")},
	} {
		t.Run(name, func(t *testing.T) {
			told, kind := recorded(t, agentRoom+"/testdata/screens/"+name+".txt")
			require.Equal(t, recording.Screen, kind)
			require.Equal(t, want.class.String(), agenttest.ClassOf(told.Event).String())
			require.Equal(t, want.working, told.Working)
			got, limited := told.Event.(resume.Limited)
			require.Equal(t, want.reset, got.Reset.At)
			require.Equal(t, want.goesOn, got.InProgress)
			require.Equal(t, limited || want.class == limit.Cancelled || told.Line > 0, told.Line > 0)
		})
	}
}

func TestACommandThatIsOfferedIsNoPartOfARefusal(t *testing.T) {
	told, _ := recorded(t, agentRoom+"/testdata/screens/interactive-resume-after-limit.txt")
	require.Equal(t, "You've hit your 5-hour limit · resets 12:19am (UTC)", told.Event.(resume.Limited).Text)
}

// For the copy of a screen, the clock time on it counts.
func TestTheClockOnAScreenCounts(t *testing.T) {
	data, err := os.ReadFile(agentRoom + "/testdata/screens/usage-5h-oauth.txt")
	require.NoError(t, err)
	copied := recordedAt.Add(6 * time.Hour)
	report, ok := newReader().Recorded(headless.Recording{Text: string(data), At: copied})
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 11, 15, 2, 2, 0, 0, time.UTC), report.Told[0].Event.(resume.Limited).Reset.At)
}

func TestAnothersRecordingIsNotClaudes(t *testing.T) {
	for rule, text := range map[string]string{
		"words":         "API Error: 529 Overloaded",
		"another agent": `{"type":"result","subtype":"success","uuid":"c95e3fae-c996-4e66-822a-fa4c7889f942","session_id":"a1625c6c-82e3-4c4a-8be3-d402ce1d40fb","is_error":false,"result":"x"}`,
		"a program":     "──────────────\nTotal: 3\n──────────────\n",
		"nothing":       "",
	} {
		t.Run(rule, func(t *testing.T) {
			_, ok := newReader().Recorded(headless.Recording{Text: text, At: recordedAt})
			require.False(t, ok)
		})
	}
}

func TestTranscriptsAreRecognisedByTheirBeginning(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		data, err := os.ReadFile(filepath.Join(agentRoom, "testdata", filepath.FromSlash(c.File)))
		require.NoError(t, err)
		require.True(t, newReader().Recognises(data[:min(len(data), 4096)]), c.Case)
	}
	for _, other := range []string{
		"", "plain text\n", `{"type":"session_meta","payload":{"id":"4627940e-bc2a-481e-b968-2e9555f91b44"}}` + "\n",
		`{"sessionId":"4627940e-bc2a-481e-b968-2e9555f91b44","projectHash":"ab","messages":[]}`,
		`{"uuid":"4627940e-bc2a-481e-b968-2e9555f91b44","sessionId":"4627940e-bc2a-481e-b968-2e9555f91b44","type":"user","version":"0.24.4","message":{"role":"user","parts":[{"text":"hi"}]}}`,
	} {
		require.False(t, newReader().Recognises([]byte(other)), other)
	}
}

func FuzzRecorded(f *testing.F) {
	for _, pattern := range []string{"testdata/stdout/u*", agentRoom + "/testdata/screens/*", "testdata/hooks/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(string(data))
		}
	}
	r := newReader()
	f.Fuzz(func(t *testing.T, text string) {
		report, _ := r.Recorded(headless.Recording{Text: text, At: recordedAt})
		for _, told := range report.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
			require.LessOrEqual(t, told.Line, strings.Count(text, "\n")+1)
		}
	})
}
