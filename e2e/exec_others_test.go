package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// opensAgain is the argument with which a person opens a session of an agent in a terminal.
var opensAgain = map[string]string{"claude-code": "--resume", "codex": "resume"}

// underExec begins the task under `resumed exec`, and returns when that waits after a refusal.
func (b *box) underExec(row *result, wait string, flags ...string) (exec *run, session string) {
	b.t.Helper()
	row.provider = string(agenttest.RateLimit(0).Kind())
	b.write(".config/resumed/resumed.toml", b.config()+"[[backoff.policy]]\nname = \"exec\"\nbase_delay = \""+wait+"\"\nmax_delay = \"1h\"\n")
	b.provider.Script(b.step("one"), agenttest.RateLimit(0))
	exec = b.launch(append(append([]string{daemon, "exec", "--policy", "exec", "--"}, b.kit.begin(prompt)...), flags...)...)
	b.until("exec waits", func() bool { return exec.ended() || strings.Contains(exec.out.String(), ": retry 1 of ") })
	require.Equal(b.t, "one", b.done(), "the agent had begun")
	row.said = said(exec.out.String())
	b.provider.Script(b.step("two"), agenttest.Text("All done."))
	b.provider.Upon("never mind", agenttest.Text("As you like."))
	transcript := b.transcript()
	require.NotEmpty(b.t, transcript)
	return exec, regexp.MustCompile(`[0-9a-f-]{36}\.jsonl$`).FindString(transcript)[:36]
}

// opens opens the session in a terminal, as a person does.
func (b *box) opens(session string) *pane {
	b.t.Helper()
	b.kit.talk = func(string) []string { return []string{b.kit.program, opensAgain[b.kit.agent], session} }
	p := b.talk("")
	p.until("the session", func(screen string) bool { return strings.Contains(screen, prompt) })
	return p
}

// opened takes over a minute with Codex, whose server keeps a session open for so long after its terminal has closed.
var opened = situation{"exec, and a person opens the session and closes it", func(t *testing.T, b *box, row *result) {
	exec, session := b.underExec(row, "25s")
	p := b.opens(session)
	b.until("exec says so", func() bool {
		return strings.Contains(exec.out.String(), "session "+session+" open: it is continued when that process ends")
	})
	p.kill()
	exec.wait(t)
	require.Zero(t, exec.cmd.ProcessState.ExitCode(), exec.out.String())
	require.Equal(t, "one two", b.done())
	b.mustKeep(once)
	row.did, row.outcome = "waited for the terminal, and continued once", "finished"
}}

var execOthers = []situation{
	opened,
	{"exec, and a person goes on with the session", func(t *testing.T, b *box, row *result) {
		exec, session := b.underExec(row, "25s")
		p := b.opens(session)
		p.write("never mind")
		p.until("the words", func(screen string) bool { return strings.Contains(screen, "never mind") })
		p.press("Enter")
		p.until("the answer", func(screen string) bool { return strings.Contains(screen, "As you like.") })
		exec.wait(t)
		require.Equal(t, 75, exec.cmd.ProcessState.ExitCode(), exec.out.String())
		require.Contains(t, exec.out.String(), "session "+session+" was continued without it")
		require.Contains(t, exec.out.String(), "Try: cd ")
		require.Equal(t, "one", b.done())
		row.did, row.outcome = "left it to the person", "exit code 75"
	}},
	{"exec, and Ctrl-C", func(t *testing.T, b *box, row *result) {
		exec, session := b.underExec(row, "10m")
		require.NoError(t, exec.cmd.Process.Signal(syscall.SIGINT))
		exec.wait(t)
		require.Equal(t, 130, exec.cmd.ProcessState.ExitCode(), exec.out.String())
		b.start(b.config())
		b.until("the daemon has cancelled it too", func() bool {
			s, _ := b.session()
			return s.ID == session && s.State == resume.Watching && s.Reason == "cancelled by you"
		})
		require.Equal(t, "one", b.done())
		row.did, row.outcome = "nothing, as exec was cancelled", "cancelled"
	}},
	{"exec, killed before there was a daemon", func(t *testing.T, b *box, row *result) {
		b.provider.Upon("continue", b.step("two"), agenttest.Text("All done."))
		exec, session := b.underExec(row, "10m")
		before := b.provider.Requests()
		require.NoError(t, exec.cmd.Process.Kill())
		exec.wait(t)
		b.start(b.config())
		s := b.untilState(resume.Waiting, resume.Resuming, resume.Settling)
		require.Equal(t, session, s.ID)
		b.finished(s, before, 1, once)
		after, _ := b.session()
		require.True(t, after.Started.Seen, "exec has recorded it")
		row.did, row.outcome = "continued once with what exec started it with", "finished"
	}},
}

// oneDocument is for agents that print one.
var oneDocument = situation{"exec, one document", func(t *testing.T, b *box, row *result) {
	exec, session := b.underExec(row, "1s", "--output-format", "json")
	exec.wait(t)
	require.Zero(t, exec.cmd.ProcessState.ExitCode(), exec.out.String())
	require.Equal(t, "one two", b.done())
	var documents []string
	for line := range strings.Lines(exec.out.String()) {
		if strings.HasPrefix(line, "{") {
			documents = append(documents, line)
		}
	}
	require.Len(t, documents, 1, exec.out.String())
	var last struct {
		Result  string `json:"result"`
		Session string `json:"session_id"`
		Failed  bool   `json:"is_error"`
	}
	require.NoError(t, json.Unmarshal([]byte(documents[0]), &last))
	require.Equal(t, "All done.", last.Result)
	require.Equal(t, session, last.Session)
	require.False(t, last.Failed)
	row.did, row.outcome = "continued once, and printed that run's document", "finished"
}}
