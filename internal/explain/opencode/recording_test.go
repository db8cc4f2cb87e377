package opencode

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

// agentRoom has rows of the same sessions, and the events that the daemon receives too.
const agentRoom = "../../agent/opencode"

// captured is a session of a real opencode, and what its rows mean.
type captured struct {
	Case       string      `json:"case"`
	File       string      `json:"file"`
	Class      limit.Class `json:"class"`
	WaitHelps  *bool       `json:"wait_helps"`
	Reset      time.Time   `json:"reset"`
	Session    string      `json:"session"`
	Cwd        string      `json:"cwd"`
	Detectable *bool       `json:"detectable_from_file"`
}

func (c captured) shows() bool { return c.Detectable == nil || *c.Detectable }

// rows returns the rows of the session, as they were saved.
func (c captured) rows(t testing.TB) string { return readFile(t, agentRoom+"/testdata/"+c.File) }

func captures(t testing.TB) []captured {
	var ofDatabases []captured
	for _, c := range agenttest.Cases[captured](t, agentRoom) {
		if strings.HasPrefix(c.File, "db/") {
			ofDatabases = append(ofDatabases, c)
		}
	}
	require.NotEmpty(t, ofDatabases)
	return ofDatabases
}

func newReader() recording.Reader {
	return Reader.With(limit.Reader{Zone: time.UTC, Grace: 2 * time.Hour})
}

func limited(t testing.TB, event resume.Event) resume.Limited {
	t.Helper()
	require.IsType(t, resume.Limited{}, event)
	return event.(resume.Limited)
}

func requireMeaning(t *testing.T, c captured, event resume.Event) {
	t.Helper()
	switch c.Class {
	case limit.None:
		require.IsType(t, resume.Progressed{}, event)
		return
	case limit.Cancelled:
		require.IsType(t, resume.Cancelled{}, event)
		return
	default:
	}
	got := limited(t, event)
	require.Equal(t, c.Class.String(), got.Class.String(), got.Text)
	require.NotEmpty(t, got.Text)
	waitHelps := c.Class.Transient()
	if c.WaitHelps != nil {
		waitHelps = *c.WaitHelps
	}
	require.Equal(t, waitHelps, got.WaitHelps)
	require.False(t, got.InProgress)
	switch {
	case !c.Reset.IsZero():
		require.WithinDuration(t, c.Reset, got.Reset.At, time.Second, got.Reset.Source)
	case c.Case != "serve_fake_rl_openai_hdr": // its rate limit headers state one
		require.False(t, got.Reset.Stated(), "no time is stated: %v", got.Reset)
	}
}

var copiedAt = time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)

func readFile(t testing.TB, path string) string {
	data, err := os.ReadFile(filepath.FromSlash(path))
	require.NoError(t, err)
	return string(data)
}

func report(t testing.TB, text string) recording.Report {
	t.Helper()
	r, ok := newReader().Recorded(headless.Recording{Text: text, At: copiedAt})
	require.True(t, ok, "it is not recognised")
	return r
}

func TestRowsThatWereSavedTellWhatTheDatabaseDoes(t *testing.T) {
	for _, c := range captures(t) {
		t.Run(c.Case, func(t *testing.T) {
			r := report(t, c.rows(t))
			require.Equal(t, "rows of a database", r.Kind)
			require.Len(t, r.Told, 1)
			told := r.Told[0]
			require.Equal(t, c.Session, told.Session)
			require.Equal(t, c.Cwd, told.Cwd)
			require.Positive(t, told.Line)
			if c.shows() {
				requireMeaning(t, c, told.Event)
			} else {
				require.IsType(t, resume.Cancelled{}, told.Event)
				require.NotEmpty(t, told.Leave)
			}
		})
	}
}

func TestTheStreamsOfARunTellHowItEnded(t *testing.T) {
	for name, want := range map[string]limit.Class{
		"attach_ok.stdout":         limit.None,
		"kill_kill_midhang.stdout": limit.None,
		"perm.stdout":              limit.None,
		"plugin.stdout":            limit.RateLimit,
		"run_auth401_json.stdout":  limit.Auth,
		"run_bad400.stderr":        limit.BadRequest,
		"run_ctx400_json.stdout":   limit.ContextOverflow,
		"run_ok_json.stdout":       limit.None,
		"run_rl_ra1.stderr":        limit.RateLimit,
		"run_rl_ra1_json.stdout":   limit.RateLimit,
		"run_tool_json.stdout":     limit.None,
		"tool_then_rl.stdout":      limit.RateLimit,
	} {
		t.Run(name, func(t *testing.T) {
			colours := strings.NewReplacer("\x1b[0m", "", "\x1b[91m", "", "\x1b[1m", "", "\x1b[93m", "")
			r := report(t, colours.Replace(readFile(t, "testdata/run/"+name)))
			require.Equal(t, recording.RunOutput, r.Kind)
			require.Equal(t, want.String(), agenttest.ClassOf(r.Told[0].Event).String())
			require.Equal(t, strings.HasSuffix(name, "stdout"), r.Told[0].Session != "")
			if strings.Contains(name, "rl") && strings.HasSuffix(name, "stdout") {
				require.True(t, limited(t, r.Told[0].Event).Reset.Stated())
			}
		})
	}
}

func TestAnothersRecordingIsNotOpencodes(t *testing.T) {
	for rule, text := range map[string]string{
		"words":         "Error: Rate limit reached for requests\n",
		"a quotation":   "> build · it\nand so on\n",
		"other events":  "data: {\"type\":\"message_start\"}\n\n",
		"other JSON":    `{"info":{"id":"x"},"messages":[]}`,
		"an empty map":  "{}",
		"another's log": "timestamp=2026-11-15T00:00:00Z level=INFO message=hello\n",
	} {
		t.Run(rule, func(t *testing.T) {
			_, ok := newReader().Recorded(headless.Recording{Text: text, At: copiedAt})
			require.False(t, ok)
		})
	}
}

func TestADatabaseIsRecognised(t *testing.T) {
	require.True(t, newReader().Recognises([]byte("SQLite format 3\x00...")))
	require.False(t, newReader().Recognises([]byte(`{"type":"user"}`)))
}

func FuzzRecorded(f *testing.F) {
	for _, pattern := range []string{agentRoom + "/testdata/db/*", agentRoom + "/testdata/*.*", "testdata/run/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			f.Add(readFile(f, path))
		}
	}
	reader := newReader()
	f.Fuzz(func(t *testing.T, text string) {
		r, _ := reader.Recorded(headless.Recording{Text: text, At: copiedAt})
		for _, told := range r.Told {
			if got, ok := told.Event.(resume.Limited); ok {
				require.NotEqual(t, limit.None, got.Class)
				require.True(t, got.Reset.At.IsZero() || got.Reset.Source != "")
			}
			require.LessOrEqual(t, told.Line, strings.Count(text, "\n")+1)
		}
	})
}
