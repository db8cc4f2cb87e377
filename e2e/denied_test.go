package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// thought is how long the provider takes: a session that works for hours lives
// longer than the daemon needs to see what it is run with.
const thought = 2 * time.Second

// denied is a session whose next command needs a permission, and whose program
// the daemon does not find in its PATH: it is continued with the one it was run
// with, is refused, and is left to a person.
var denied = situation{"refused a permission", func(t *testing.T, b *box, row *result) {
	b.kit.ask(b)
	b.stranger = true
	b.start(b.config())
	refusal := agenttest.RateLimit(0).Thinking(thought)
	row.provider = string(refusal.Kind())
	b.provider.Script(refusal)
	b.provider.Upon("continue", agenttest.Tool("echo two >> work.txt"), agenttest.Text("I may not."))
	agent := b.begin(prompt)
	b.untilState(resume.Waiting)
	agent.wait(t)

	s := b.untilState(resume.Parked)
	row.said = saw(s)
	require.Contains(t, s.Reason, "was refused permission to use ")
	require.Contains(t, s.Reason, "echo two >> work.txt")
	require.Len(t, s.Attempts, 1)
	require.Equal(t, resume.Denied, s.Attempts[0].Outcome)
	require.FileExists(t, s.Program)
	require.Empty(t, b.done(), "nothing was allowed")
	b.mustStayQuiet(b.provider.Requests(), 1)
	row.did, row.outcome = "continued once with "+tail(s.Program, 40)+", parked it", "left to a person"
}}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}

// change replaces words in a file of the box.
func (b *box) change(name string, pairs ...string) {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	require.NoError(b.t, err)
	text := strings.NewReplacer(pairs...).Replace(string(data))
	require.NotEqual(b.t, string(data), text)
	b.write(name, text)
}
