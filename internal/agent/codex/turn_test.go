package codex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// What the real Codex had written when its process ended.
func TestWhetherATurnHasEnded(t *testing.T) {
	a, err := New(Options{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	for name, open := range map[string]bool{
		"sigkill_midturn": true, "sigterm_midturn": true,
		"hang": false, "v0.158.0_cut": false, // they ended with an error
		"ok": false, "hang_headers_sigint": false, "429_usage_limit": false, "500": false,
		"v0.80.0_500": false, "v0.58.0_429": false, // these versions do not write where a turn begins and ends
	} {
		t.Run(name, func(t *testing.T) {
			at, got, err := a.OpenTurn(t.Context(), resume.Session{Transcript: "testdata/rollouts/" + name + ".rollout.jsonl"})
			require.NoError(t, err)
			require.Equal(t, open, got)
			require.Equal(t, open, !at.IsZero())
		})
	}
}

// A process that ends in good order removes its lock file. Signals leave it, so a process with a
// terminal may have been closed.
func TestHowAProcessEnded(t *testing.T) {
	home := t.TempDir()
	a, err := New(Options{Roots: []string{home}})
	require.NoError(t, err)
	s := resume.Session{Key: resume.Key{Agent: Name, ID: "s"}, Transcript: filepath.Join(home, "sessions/r.jsonl"), Origin: &resume.Origin{}}
	require.Equal(t, resume.Vanished, a.Ended(s))
	require.NoError(t, os.Mkdir(filepath.Join(home, "thread-writer-locks"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "thread-writer-locks/s.lock"), nil, 0o600))
	require.Equal(t, resume.Killed, a.Ended(s))
	s.Origin = &resume.Origin{TTY: true}
	require.Equal(t, resume.HungUp, a.Ended(s))
}

// The process of a session writes the rollouts of its subagents, too.
func TestWhatAProcessWrites(t *testing.T) {
	home := t.TempDir()
	a, err := New(Options{Roots: []string{home}})
	require.NoError(t, err)
	file, err := os.Create(filepath.Join(home, "subagent.jsonl"))
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	s := resume.Session{Transcript: "own.jsonl", Origin: &resume.Origin{Process: resume.Process{PID: os.Getpid()}}}
	require.Equal(t, "own.jsonl", a.Records(s)[0])
	require.Contains(t, a.Records(s), file.Name())
}
