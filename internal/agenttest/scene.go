package agenttest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Scene is a stopped session on disk, and a program to continue it with.
type Scene[A agent.Agent] struct {
	Agent   A
	Program string
	Session resume.Session
}

// NewScene makes a user's home and the program in PATH. transcript is a path in that home that begins
// with the agent's home; newAgent makes the agent with that home.
func NewScene[A agent.Agent](t *testing.T, program, id, transcript string, newAgent func(t testing.TB, roots ...string) A) *Scene[A] {
	t.Helper()
	user, bin := t.TempDir(), t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("PATH", bin)
	home, _, _ := strings.Cut(transcript, "/")
	sc := &Scene[A]{Agent: newAgent(t, filepath.Join(user, home)), Program: filepath.Join(bin, program)}
	require.NoError(t, os.WriteFile(sc.Program, []byte("#!/bin/sh\n"), 0o700))
	sc.Session = resume.Session{
		Key: resume.Key{Agent: sc.Agent.Name(), ID: id}, Cwd: user, Transcript: filepath.Join(user, filepath.FromSlash(transcript)),
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(sc.Session.Transcript), 0o700))
	return sc
}

// Write appends records to the transcript.
func (sc *Scene[A]) Write(t *testing.T, records ...any) {
	t.Helper()
	f, err := os.OpenFile(sc.Session.Transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for _, record := range records {
		data, err := json.Marshal(record)
		require.NoError(t, err)
		_, err = fmt.Fprintf(f, "%s\n", data)
		require.NoError(t, err)
	}
}

// Plan returns how the session is continued with that prompt.
func (sc *Scene[A]) Plan(t *testing.T, prompt string) agent.Plan {
	t.Helper()
	plan, err := sc.Agent.Plan(t.Context(), sc.Session, prompt)
	require.NoError(t, err)
	return plan
}

// Arguments returns the arguments that continue a session with this origin; nil: nothing is sent,
// because something cannot be repeated.
func (sc *Scene[A]) Arguments(t *testing.T, o resume.Origin) []string {
	t.Helper()
	o.SeenAt = time.Now()
	sc.Session.Origin = &o
	plan := sc.Plan(t, "continue")
	require.NotNil(t, plan.Run, "%+v", plan.Skip)
	if len(plan.Run.Carried.Missing) > 0 {
		return nil
	}
	return plan.Run.Argv[1:]
}

// MustGoOn checks that the session is continued in its directory by these arguments, and with no
// variables added.
func (sc *Scene[A]) MustGoOn(t *testing.T, prompt string, args ...string) {
	t.Helper()
	plan := sc.Plan(t, prompt)
	require.NotNil(t, plan.Run, "%+v", plan.Skip)
	require.Equal(t, append([]string{sc.Program}, args...), plan.Run.Argv)
	require.Equal(t, sc.Session.Cwd, plan.Run.Dir)
	require.Empty(t, plan.Run.Env)
}

// MustLeave checks that the session is not continued, for that reason; park is whether it is parked.
func (sc *Scene[A]) MustLeave(t *testing.T, why string, park bool) {
	t.Helper()
	leave := sc.Plan(t, "continue").Skip
	require.NotNil(t, leave, why)
	require.Contains(t, leave.Why, why)
	require.Equal(t, park, leave.Park, why)
}

// Spoilt are problems that waiting does not fix, by the reason that is given.
func Spoilt[A agent.Agent](program string) map[string]func(*testing.T, *Scene[A]) {
	return map[string]func(*testing.T, *Scene[A]){
		program + " was not found": func(t *testing.T, sc *Scene[A]) { require.NoError(t, os.Remove(sc.Program)) },
		"is gone":                  func(_ *testing.T, sc *Scene[A]) { sc.Session.Cwd = "/no/such/directory" },
		"the transcript is gone":   func(t *testing.T, sc *Scene[A]) { require.NoError(t, os.Remove(sc.Session.Transcript)) },
		"is none of ":              func(_ *testing.T, sc *Scene[A]) { sc.Session.Key.ID = "--help" },
	}
}

// MoveHome moves the agent's home with the session, and returns the old and the new path.
func (sc *Scene[A]) MoveHome(t *testing.T) (from, to string) {
	t.Helper()
	rel, err := filepath.Rel(sc.Session.Cwd, sc.Session.Transcript)
	require.NoError(t, err)
	home, _, _ := strings.Cut(rel, string(filepath.Separator))
	from, to = filepath.Join(sc.Session.Cwd, home), filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Rename(from, to))
	sc.Session.Transcript = strings.Replace(sc.Session.Transcript, from, to, 1)
	return from, to
}
