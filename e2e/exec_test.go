package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/limit"
)

// wrapping is a run of the agent's own command under `resumed exec`, without a
// daemon, and how that must end.
type wrapping struct {
	name   string
	answer agenttest.Answer
	end    wrapped
	class  limit.Class
}

// wrapped is how a run under exec must end.
type wrapped int

const (
	goesOn   wrapped = iota + 1 // the task was finished in the same session, with one continuation
	givesUp                     // the retries ran out
	returned                    // it failed, as the agent itself did
)

// wraps are what happens to every agent under exec. The limit is one that the
// agent gives up at soon.
func wraps(limited agenttest.Answer) []wrapping {
	return []wrapping{
		{name: "exec, let in again", answer: limited, end: goesOn, class: limit.RateLimit},
		{name: "exec, never let in again", answer: limited, end: givesUp, class: limit.RateLimit},
		{name: "exec, wrong key", answer: agenttest.Unauthorized(), end: returned},
	}
}

func (w wrapping) play(t *testing.T, b *box, row *result) {
	row.provider = string(w.answer.Kind())
	b.write(".config/resumed/resumed.toml", b.config()+"[[backoff.policy]]\nname = \"exec\"\nmax_retries = 1\n")
	b.provider.Script(b.step("one"), w.answer)
	exec := b.launch(append([]string{daemon, "exec", "--policy", "exec", "--"}, b.kit.begin(prompt)...)...)

	var before []agenttest.Request
	if w.end != returned {
		b.until("exec waits", func() bool { return exec.ended() || strings.Contains(exec.out.String(), ": retry 1 of 1 at ") })
		before = b.provider.Requests()
		require.Equal(t, "one", b.done(), "the agent had begun")
		require.Contains(t, exec.out.String(), fmt.Sprintf("(%s): retry", w.class))
		row.said = said(exec.out.String())
	}
	if w.end == goesOn {
		b.provider.Script(b.step("two"), agenttest.Text("All done."))
	}
	exec.wait(t)
	code, news := exec.cmd.ProcessState.ExitCode(), b.provider.Requests()[len(before):]
	switch w.end {
	case goesOn:
		require.Zero(t, code)
		require.Equal(t, "one two", b.done())
		require.Len(t, news, 2, "a continuation is one step and one last word")
		last := before[len(before)-1]
		require.False(t, news[0].At.Before(last.Reset), "continued at %s, before %s", news[0].At, last.Reset)
		row.did = fmt.Sprintf("continued once, %s after the refusal", news[0].At.Sub(last.At).Round(100*time.Millisecond))
		row.outcome = "finished"
		mustSay(t, news[1].Prompts, once)
		b.mustKeep(once)
	case givesUp:
		require.Equal(t, 75, code)
		require.Equal(t, "one", b.done())
		require.NotEmpty(t, news)
		row.did, row.outcome = "continued once, and gave up", "exit code 75"
		mustSay(t, news[0].Prompts, once)
		if b.kit.takesBack {
			b.mustKeep(prompts{prompt: 1, "continue": 0})
		} else {
			b.mustKeep(once)
		}
	case returned:
		require.Equal(t, 1, code, "as the agent itself ended")
		require.Equal(t, "one", b.done(), "the agent had begun")
		require.NotContains(t, exec.out.String(), ": retry ")
		row.said, row.did, row.outcome = "a failure for good", "nothing", fmt.Sprintf("exit code %d", code)
	}
}

// said returns why exec waits, short enough for the table.
func said(out string) string {
	_, why, _ := strings.Cut(out, "resumed: ")
	why, _, _ = strings.Cut(why, ": retry ")
	return short(why)
}
