package codex

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/agenttest"
	"resumed/internal/limit"
	"resumed/internal/lines"
	"resumed/internal/resume"
)

// captured is one rollout that a real Codex wrote, and what it means.
type captured struct {
	Case       string      `json:"case"`
	File       string      `json:"file"`
	Class      limit.Class `json:"class"`
	WaitHelps  *bool       `json:"wait_helps"`
	ResetAt    time.Time   `json:"reset_at"`
	Session    string      `json:"session"`
	Cwd        string      `json:"cwd"`
	Text       string      `json:"text"`
	Detectable *bool       `json:"detectable_from_file"`
}

func (c captured) path() string { return filepath.Join("testdata", "rollouts", c.File) }

// hidden reports whether the rollout's version did not write what stopped it.
func (c captured) hidden() bool { return c.Detectable != nil && !*c.Detectable }

func newAgent(t testing.TB, o Options) *Agent {
	if o.Zone == nil {
		o.Zone = time.UTC // the captures' clock times are UTC
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

func TestEveryCapturedRolloutIsUnderstood(t *testing.T) {
	a := newAgent(t, Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		t.Run(c.Case, func(t *testing.T) {
			last, found, err := agent.Last(t.Context(), a, src, c.path())
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, resume.Key{Agent: "codex", ID: c.Session}, last.Key)
			require.Equal(t, c.Cwd, last.Cwd)
			require.Equal(t, src.Account, last.Account)
			require.Equal(t, c.path(), last.Transcript)
			requireMeaning(t, c, last.Event)
		})
	}
}

func requireMeaning(t *testing.T, c captured, event resume.Event) {
	t.Helper()
	switch {
	case c.Class == limit.None || c.hidden():
		switch event.(type) {
		case resume.Progressed, resume.Prompted:
		default:
			require.Failf(t, "nothing says that this session was stopped", "%#v", event)
		}
		return
	case c.Class == limit.Cancelled:
		require.IsType(t, resume.Cancelled{}, event)
		return
	}
	require.IsType(t, resume.Limited{}, event)
	limited := event.(resume.Limited)
	require.Equal(t, c.Class.String(), limited.Class.String(), limited.Text)
	if c.Text != "" {
		require.Equal(t, c.Text, limited.Text)
	}
	waitHelps := c.Class.Transient()
	if c.WaitHelps != nil {
		waitHelps = *c.WaitHelps
	}
	require.Equal(t, waitHelps, limited.WaitHelps)
	require.False(t, limited.InProgress)
	if !c.ResetAt.IsZero() {
		require.Equal(t, limit.Reset{At: c.ResetAt, Source: limit.Structured}, limited.Reset)
		return
	}
	if limited.Reset.Stated() {
		require.Contains(t, c.Text, "try again in", "only a text that states a wait has a reset: %v", limited.Reset)
	}
}

// The class, and a time to the minute, can be derived from the text alone if the limits are missing in
// the rollout.
func TestWithoutTheWindowsTheWordsTell(t *testing.T) {
	a := newAgent(t, Options{})
	for _, c := range agenttest.Cases[captured](t) {
		if c.Text == "" {
			continue
		}
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte(`"rate_limits":{`), []byte(`"limits":{`))
		path := filepath.Join(t.TempDir(), "rollout.jsonl")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		last, found, err := agent.Last(t.Context(), a, a.Sources()[0], path)
		require.NoError(t, err)
		require.True(t, found)
		limited, ok := last.Event.(resume.Limited)
		require.True(t, ok, c.Case)
		require.Equal(t, c.Class.String(), limited.Class.String(), c.Case)
		if c.Class == limit.UsageLimit && !c.ResetAt.IsZero() {
			require.WithinDuration(t, c.ResetAt, limited.Reset.At, time.Minute, c.Case)
			require.Equal(t, limit.Words, limited.Reset.Source)
			require.True(t, limited.Reset.Rough)
		}
	}
}

func observeAll(a *Agent, src agent.Source, path string, data []byte) []agent.Evidence {
	var all []agent.Evidence
	offset := int64(0)
	for line := range bytes.Lines(data) {
		trimmed := bytes.TrimSuffix(line, []byte("\n"))
		if src.Sift(trimmed) != agent.Nothing {
			if s, ok := a.Observe(src, lines.Line{Path: path, Offset: offset, Data: trimmed}); ok {
				all = append(all, agent.Evidence{Observation: s, Offset: offset})
			}
		}
		offset += int64(len(line))
	}
	return all
}

// A file that is read from its start gives the same end as one that is read
// from its end, and reading it again changes nothing.
func TestReadingForwardsEndsWhereReadingBackwardsBegins(t *testing.T) {
	for _, c := range agenttest.Cases[captured](t) {
		a := newAgent(t, Options{})
		src := a.Sources()[0]
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		forth := observeAll(a, src, c.path(), data)
		var back []agent.Evidence
		require.NoError(t, agent.Back(t.Context(), newAgent(t, Options{Roots: []string{a.Homes.Roots[0]}}), src, c.path(), func(e agent.Evidence) bool {
			back = append([]agent.Evidence{e}, back...)
			return true
		}))
		require.Equal(t, forth, back, c.Case)
		require.Equal(t, forth, observeAll(a, src, c.path(), data), "again: %s", c.Case)
	}
}

// A copy of a rollout may have its fields in another order.
func TestTheOrderOfFieldsIsNoMatter(t *testing.T) {
	a := newAgent(t, Options{})
	src := a.Sources()[0]
	for _, c := range agenttest.Cases[captured](t) {
		data, err := os.ReadFile(c.path())
		require.NoError(t, err)
		var sorted bytes.Buffer
		for line := range bytes.Lines(data) {
			var record map[string]any
			require.NoError(t, json.Unmarshal(line, &record))
			require.NoError(t, json.NewEncoder(&sorted).Encode(record))
		}
		path := filepath.Join(t.TempDir(), "rollout.jsonl")
		require.NoError(t, os.WriteFile(path, sorted.Bytes(), 0o600))
		var before, after []resume.Observation
		collect := func(into *[]resume.Observation) func(agent.Evidence) bool {
			return func(e agent.Evidence) bool {
				e.Transcript = ""
				*into = append(*into, e.Observation)
				return true
			}
		}
		require.NoError(t, agent.Back(t.Context(), a, src, c.path(), collect(&before)))
		require.NoError(t, agent.Back(t.Context(), a, src, path, collect(&after)))
		require.Equal(t, before, after, c.Case)
	}
}
