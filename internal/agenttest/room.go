package agenttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Cases returns the entries of testdata/cases.json about the files next to it, which real agents wrote:
// of the package under test, or of another one.
func Cases[C any](t testing.TB, of ...string) []C {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append(of, "testdata", "cases.json")...))
	require.NoError(t, err)
	var index struct {
		Cases []C `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(data, &index))
	require.NotEmpty(t, index.Cases)
	return index.Cases
}

// Alone returns an agent for the captures: its clock times without a zone are UTC. It has a temporary
// home unless roots are given, and finds no processes.
func Alone[A any](t testing.TB, newAgent func(agent.Options) (A, error), see func(A, process.Table), roots []string) A {
	t.Helper()
	if roots == nil {
		roots = []string{t.TempDir()}
	}
	a, err := newAgent(agent.Options{Roots: roots, Zone: time.UTC, Grace: 2 * time.Hour})
	require.NoError(t, err)
	see(a, process.At(procfs.FS(t.TempDir())))
	return a
}

// Seeds gives a fuzz test each line that real agents wrote.
func Seeds(f *testing.F) {
	f.Helper()
	for _, c := range Cases[Captured](f) {
		data, err := os.ReadFile(c.Path())
		require.NoError(f, err)
		for line := range bytes.Lines(data) {
			f.Add(bytes.TrimSpace(line))
		}
	}
}

// Denied returns what was refused to a run with that output. Its transcript is a file of testdata plus
// the lines in more.
func Denied(t *testing.T, a agent.Agent, file string, since time.Time, output string, more ...string) (agent.Denial, bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	for _, line := range more {
		data = append(data, line+"\n"...)
	}
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	d, found, err := a.Denied(t.Context(), resume.Session{Transcript: path}, agent.Ran{Since: since, Output: output})
	require.NoError(t, err)
	return d, found
}
