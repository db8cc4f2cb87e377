package agenttest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// Captured is the transcript of a real agent's session, and its meaning.
type Captured struct {
	Case    string      `json:"case"`
	File    string      `json:"file"`
	Class   limit.Class `json:"class"`
	Session string      `json:"session"`
	Cwd     string      `json:"cwd"`
	Reset   time.Time   `json:"reset"` // zero if none is stated
}

// Path returns the path of the transcript, for a test of its package.
func (c Captured) Path() string { return filepath.Join("testdata", filepath.FromSlash(c.File)) }

// Understood checks that the agent understands how every captured session ends.
func Understood(t *testing.T, a agent.FileAgent) {
	t.Helper()
	src := a.Sources()[0]
	for _, c := range Cases[Captured](t) {
		t.Run(c.Case, func(t *testing.T) {
			last, found, err := agent.Last(t.Context(), a, src, c.Path())
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, resume.Key{Agent: a.Name(), ID: c.Session}, last.Key)
			require.Equal(t, c.Cwd, last.Cwd)
			switch c.Class {
			case limit.None:
				require.IsType(t, resume.Progressed{}, last.Event)
				return
			case limit.Cancelled:
				require.IsType(t, resume.Cancelled{}, last.Event)
				return
			default:
			}
			require.IsType(t, resume.Limited{}, last.Event)
			limited := last.Event.(resume.Limited)
			require.Equal(t, c.Class.String(), limited.Class.String())
			require.Equal(t, c.Class.Transient(), limited.WaitHelps)
			require.Equal(t, c.Reset, limited.Reset.At.UTC())
		})
	}
}

// BothWays checks that reading forwards and backwards gives the same last event.
func BothWays(t *testing.T, a agent.FileAgent) {
	t.Helper()
	src := a.Sources()[0]
	for _, c := range Cases[Captured](t) {
		var back, forth []resume.Event
		require.NoError(t, agent.Back(t.Context(), a, src, c.Path(), func(e agent.Evidence) bool {
			back = append(back, e.Event)
			return true
		}))
		data, err := os.ReadFile(c.Path())
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			if s, ok := a.Observe(src, lines.Line{Path: c.Path(), Data: line}); ok {
				forth = append(forth, s.Event)
			}
		}
		slices.Reverse(back)
		require.Equal(t, forth, back, c.Case)
	}
}

// ObserveAll returns all observations of a transcript that is read from its start.
func ObserveAll(by interface {
	Observe(src agent.Source, line lines.Line) (resume.Observation, bool)
}, src agent.Source, path string, data []byte,
) []resume.Observation {
	var all []resume.Observation
	next := int64(0)
	for line := range bytes.Lines(data) {
		offset := next
		next += int64(len(line))
		line = bytes.TrimSuffix(line, []byte("\n"))
		if src.Sift(line) == agent.Nothing {
			continue
		}
		if s, ok := by.Observe(src, lines.Line{Path: path, Offset: offset, Data: line}); ok {
			all = append(all, s)
		}
	}
	return all
}
