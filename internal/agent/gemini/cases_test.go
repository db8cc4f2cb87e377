package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// captured is one chat that a real Gemini CLI wrote, and what it means.
type captured struct {
	Case    string      `json:"case"`
	File    string      `json:"file"`
	Class   limit.Class `json:"class"`
	Session string      `json:"session"`
	Cwd     string      `json:"cwd"`
	ResetAt time.Time   `json:"reset_at"`
	Silent  bool        `json:"silent"` // the file does not contain what stopped it
}

func (c captured) path() string { return filepath.Join("testdata", filepath.FromSlash(c.File)) }

func newAgent(t testing.TB, o agent.Options) *agent.Described {
	if o.Roots == nil {
		o.Roots = []string{filepath.Join(t.TempDir(), ".gemini")}
	}
	o.Zone, o.Grace = time.UTC, 2*time.Hour
	a, err := described.New(o)
	require.NoError(t, err)
	a.Processes = process.At(procfs.FS(t.TempDir()))
	return a
}

func TestEveryCapturedChatIsUnderstood(t *testing.T) {
	a := newAgent(t, agent.Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		t.Run(c.Case, func(t *testing.T) {
			last, found, err := agent.Last(t.Context(), a, src, c.path())
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, resume.Key{Agent: "gemini", ID: c.Session}, last.Key)
			require.Equal(t, c.Cwd, last.Cwd)
			require.Equal(t, c.path(), last.Transcript)
			if c.Silent {
				require.IsType(t, resume.Prompted{}, last.Event)
				return
			}
			requireMeaning(t, c, last.Event)
		})
	}
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
	require.IsType(t, resume.Limited{}, event)
	limited := event.(resume.Limited)
	require.Equal(t, c.Class.String(), limited.Class.String(), limited.Text)
	require.Equal(t, c.Class.Transient(), limited.WaitHelps)
	require.False(t, limited.InProgress)
	require.True(t, c.ResetAt.Equal(limited.Reset.At), "%v", limited.Reset)
}

// Reading a file from its start gives the same as reading it from its end.
func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	a := newAgent(t, agent.Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		var back, forth []resume.Event
		require.NoError(t, agent.Back(t.Context(), a, src, c.path(), func(e agent.Evidence) bool {
			back = append(back, e.Event)
			return true
		}))
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			s, ok := a.Observe(src, lines.Line{Path: c.path(), Data: line})
			require.False(t, ok && sift(line) == agent.Nothing, "passed over: %s", line)
			if ok {
				forth = append(forth, s.Event)
			}
		}
		slices.Reverse(back)
		require.Equal(t, forth, back, c.Case)
	}
}

func TestAStubIsNoSession(t *testing.T) {
	a := newAgent(t, agent.Options{})
	path := filepath.Join("testdata", "chats", "stub.jsonl")
	_, found, err := agent.Last(t.Context(), a, a.Sources()[0], path)
	require.NoError(t, err)
	require.False(t, found)
}
