package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// A host that starts Claude Code sets such variables for itself. A resume with one would be two turns.
func TestASwitchThatMakesTheAgentActIsNotPassedOn(t *testing.T) {
	const acts = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"
	b := newLeashBox(t)
	b.vars = []string{acts + "=of-the-daemon"}
	b.start()
	b.steer("pause")
	b.register(b.hold([]string{acts + "=1", "CLAUDE_CODE_RESUME_PROMPT=go on"}, "claude", "--max-turns", "3"))
	b.prompted()
	b.untilSeen("--max-turns")
	require.Contains(t, b.anySession().Started.Env, acts)
	b.release()
	b.stopped()
	b.untilState(claudeSession, resume.Waiting)
	out, errOut, code := b.run("status", claudeSession)
	require.Zero(t, code, errOut)
	require.Contains(t, out, "variables CLAUDE_CODE_RESUME_INTERRUPTED_TURN, CLAUDE_CODE_RESUME_PROMPT: with them the agent acts by itself when it starts")
	b.steer("unpause")
	b.ran()
	require.Empty(t, b.ranWith(acts))
	require.Empty(t, b.ranWith("CLAUDE_CODE_RESUME_PROMPT"))
	require.Contains(t, strings.Join(b.anySession().Carried.LeftOut, "\n"), acts)
}

func TestExecPassesOnASwitchThatActsOnlyOnce(t *testing.T) {
	const acts = "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"
	b := newBox(t)
	b.write(configFile, quick)
	env := b.agentIs("claude", "echo \"$"+acts+"\" >> \"$HOME/acts\"\n"+claudeWrites)
	errOut, code := b.execAs(append(env, acts+"=1"), "--", "claude", "-p", "fix it")
	require.Zero(t, code, errOut)
	require.Equal(t, "1\n\n", b.read("acts"))
	require.Contains(t, errOut, "later runs do not get "+acts)
}
