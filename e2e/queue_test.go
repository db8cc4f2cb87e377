package e2e

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// runs returns the names of the runs that logs prints.
func runs(logs string) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)^--- (.+) ---`).FindAllStringSubmatch(logs, -1) {
		names = append(names, found[1])
	}
	return names
}

// fromQueue is a task of the queue: the daemon begins its session, which is stopped at its
// second step and goes on like any other.
var fromQueue = situation{"a task of the queue", func(t *testing.T, b *box, row *result) {
	limited := b.kit.exec[0].answer
	row.provider = string(limited.Kind())
	b.write("src/shop/.git/HEAD", "ref: refs/heads/main\n") // Codex begins nowhere else by itself
	if b.kit.agent == "copilot" {
		b.extra = append(b.extra, "COPILOT_ALLOW_ALL=true") // which the queue has no word for
	}
	b.start(b.config())
	b.provider.Script(b.step("one"), limited)
	b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
	add := []string{"queue", "add", "--agent", b.kit.agent, "--dir", b.work}
	if b.kit.agent == "gemini" {
		add = append(add, "--model", "gemini-2.5-pro")
	}
	_, err := b.ask(append(add, "--", prompt)...)
	require.NoError(t, err)
	s := b.untilState(resume.Waiting) // before that it is being begun
	b.until("the agent is refused", func() bool { return len(b.refused()) > 1 })
	row.said = saw(s)
	b.finished(s, b.refused(), 1, once)
	out, err := b.ask("queue", "--json")
	require.NoError(t, err)
	var said struct{ Tasks []view.Task }
	require.NoError(t, json.Unmarshal(out, &said))
	require.Len(t, said.Tasks, 1)
	require.Equal(t, resume.TaskStarted, said.Tasks[0].State)
	require.Equal(t, s.ID, *said.Tasks[0].Session)
	logs, err := b.ask("logs", s.ID)
	require.NoError(t, err)
	names := runs(string(logs))
	if b.kit.agent == "codex" { // which names its session itself: its start is in the logs of the task
		logs, err = b.ask("logs", said.Tasks[0].ID)
		require.NoError(t, err)
		names = append(runs(string(logs)), names...)
	}
	require.Equal(t, []string{"start", "resume 1"}, names)
	row.did, row.outcome = "began it once, and continued it once", "finished"
}}
