package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// talk returns the plan while process 7 holds the session.
func (sc *scene) talk(t *testing.T, prompt string, argv ...string) agent.Plan {
	lock := sc.agent.lockOf(sc.session)
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	info, err := os.Stat(lock)
	require.NoError(t, err)
	device, inode := identity(info)
	locks := fmt.Sprintf("1: FLOCK  ADVISORY  WRITE 7 %s:%s 0 EOF\n", device, inode)
	sc.agent.Processes = fakeProc(t, locks, procDir{pid: 7, argv: append([]string{"codex"}, argv...)})
	owner, err := sc.agent.Owner(t.Context(), sc.session)
	require.NoError(t, err)
	require.NotNil(t, owner)
	plan, err := sc.agent.PlanLive(t.Context(), sc.session, *owner, prompt)
	require.NoError(t, err)
	return plan
}

func TestAMessageIsQueuedForALiveSession(t *testing.T) {
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	queue := []string{sc.program, "queue", "--thread", sessionA}
	for prompt, want := range map[string][]string{
		"continue":     {"--message", "continue"},
		"go on, $(id)": {"--message", "go on, $(id)"},
		"-1":           {"--message=-1"},
	} {
		require.Equal(t, agent.Plan{Run: &agent.Command{
			Argv: append(queue[:len(queue):len(queue)], want...), Dir: sc.cwd, Files: []string{sc.program}, Unverifiable: true,
		}}, sc.talk(t, prompt), prompt)
	}
}

func TestWhoTakesQueuedMessages(t *testing.T) {
	for words, want := range map[string]bool{
		"app-server --listen unix:// --managed-daemon": true,
		"app-server --listen unix:///run/codex.sock":   true,
		"":               true,
		"resume -C /src": true,
		"app-server":     false,
		"app-server --listen ws://127.0.0.1:4500": false,
		"mcp-server": false,
	} {
		require.Equal(t, want, readsQueue(append([]string{"codex"}, strings.Fields(words)...)), words)
	}
	require.False(t, readsQueue(nil), "a process that tells nothing of itself")
}

// What came after the refusal decides, even if it is not an event.
func TestALiveSessionIsLeft(t *testing.T) {
	for why, line := range map[string]string{
		"process 7 works on the session": `{"timestamp":"2026-11-15T01:00:00.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t2"}}`,
		"the turn was interrupted":       `{"timestamp":"2026-11-15T01:00:00.000Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}`,
	} {
		sc := newScene(t, stopped(ran(readOnly, ""))...)
		sc.write(t, line)
		plan := sc.talk(t, "continue")
		require.NotNil(t, plan.Skip, why)
		require.Contains(t, plan.Skip.Why, why)
		require.False(t, plan.Skip.Park)
	}
	sc := newScene(t, stopped(ran(readOnly, ""))...)
	require.Contains(t, sc.talk(t, "continue", "exec", "hi").Skip.Why, "process 7 runs it without a terminal")
	plan, err := sc.agent.PlanLive(t.Context(), resume.Session{Key: resume.Key{Agent: Name, ID: "--last"}}, resume.Owner{PID: 7}, "")
	require.NoError(t, err)
	require.True(t, plan.Skip.Park, "an id that is none")
}
