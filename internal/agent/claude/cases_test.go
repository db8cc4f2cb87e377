package claude

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/claudetest"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/resume"
)

// captured is one transcript that a real Claude Code wrote, and what it means.
type captured struct {
	Case      string      `json:"case"`
	File      string      `json:"file"`
	Class     limit.Class `json:"class"`
	WaitHelps *bool       `json:"wait_helps"`
	ResetAt   time.Time   `json:"reset_at"`
	Session   string      `json:"session"`
	Cwd       string      `json:"cwd"`
	Text      string      `json:"text"`
}

const sessionA = claudetest.Session

var base, said, refused, asked, noticed, outOfQuota, encode = claudetest.Record, claudetest.Said, claudetest.Refused, claudetest.Asked, claudetest.Noticed, claudetest.OutOfQuota, claudetest.Encode

func newAgent(t testing.TB, o Options) *Agent {
	if o.Zone == nil {
		o.Zone = time.UTC // the captures' clock times without a zone are UTC
	}
	if o.Roots == nil {
		o.Roots = []string{t.TempDir()}
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Hour
	}
	a, err := New(o)
	require.NoError(t, err)
	return a
}

func TestEveryCapturedTranscriptIsUnderstood(t *testing.T) {
	a := newAgent(t, Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		t.Run(c.Case, func(t *testing.T) {
			path := filepath.Join("testdata", filepath.FromSlash(c.File))
			last, found, err := agent.Last(t.Context(), a, src, path)
			require.NoError(t, err)
			if c.Session == "" {
				require.False(t, found, "a subagent's file is no session: %v", last)
				return
			}
			require.True(t, found)
			require.Equal(t, resume.Key{Agent: "claude-code", ID: c.Session}, last.Key)
			require.Equal(t, c.Cwd, last.Cwd)
			require.Equal(t, src.Account, last.Account)
			require.Equal(t, path, last.Transcript)
			requireMeaning(t, c, last.Event)
		})
	}
}

func requireMeaning(t *testing.T, c captured, event resume.Event) {
	t.Helper()
	switch c.Class {
	case limit.None:
		switch event.(type) {
		case resume.Progressed, resume.Prompted:
		default:
			require.Failf(t, "nothing stopped this session", "%#v", event)
		}
		return
	case limit.Cancelled:
		require.IsType(t, resume.Cancelled{}, event)
		return
	default:
	}
	require.IsType(t, resume.Limited{}, event)
	limited := event.(resume.Limited)
	require.Equal(t, c.Class.String(), limited.Class.String(), limited.Text)
	require.Equal(t, c.Text, limited.Text)
	waitHelps := c.Class.Transient()
	if c.WaitHelps != nil {
		waitHelps = *c.WaitHelps
	}
	require.Equal(t, waitHelps, limited.WaitHelps)
	require.False(t, limited.InProgress)
	if c.ResetAt.IsZero() {
		require.False(t, limited.Reset.Stated(), "no time is stated: %v", limited.Reset)
		return
	}
	within := time.Minute
	if limited.Reset.Source == limit.Structured {
		within = 0 // a field is exact
	}
	require.WithinDuration(t, c.ResetAt, limited.Reset.At, within)
}

// A file that is read from its start gives the same end as one that is read
// from its end, and reading it again changes nothing.
func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	a := newAgent(t, Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		path := filepath.Join("testdata", filepath.FromSlash(c.File))
		var back []agent.Evidence
		require.NoError(t, agent.Back(t.Context(), a, src, path, func(e agent.Evidence) bool {
			back = append(back, e)
			return true
		}))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		forth := slices.DeleteFunc(agenttest.ObserveAll(a, src, path, data), func(o resume.Observation) bool {
			_, aside := o.Event.(resume.SubagentEnded)
			return aside // it says nothing about the session itself
		})
		require.Len(t, back, len(forth), c.Case)
		for i, e := range back {
			require.Equal(t, forth[len(forth)-1-i].Event, e.Event, c.Case)
		}
	}
}
