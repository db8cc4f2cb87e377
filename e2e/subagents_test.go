package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/agenttest"
	"resumed/internal/resume"
)

// subagentTask is what the main conversation gives its subagent to do.
const subagentTask = "Look at the first part."

func startSubagent(background bool) agenttest.Answer {
	return agenttest.Call("Agent", map[string]any{
		"description": "Look at part 1", "prompt": subagentTask, "subagent_type": "general-purpose", "run_in_background": background,
	})
}

// Claude Code's subagents have transcripts of their own, and meet the limit by themselves.
var (
	subagentWithIt = situation{"limit in a subagent and its session", func(t *testing.T, b *box, row *result) {
		const told = "Stopped by usage limit, with 1 subagent (general-purpose). Go on."
		b.start(b.config() + `
[[resume.prompt_for]]
classes = ["usage_limit"]
prompt = "Stopped by {reason}, with {subagents}. Go on."
`)
		row.provider = "usage_limit, for both"
		b.provider.Child(subagentTask, agenttest.UsageLimit(12*time.Second))
		b.provider.Script(startSubagent(false), agenttest.UsageLimit(10*time.Second))
		b.provider.Upon(told, b.step("two"), agenttest.Text("All done."))
		agent := b.begin(prompt)
		s := b.untilState(resume.Waiting)
		row.said = saw(s)
		agent.wait(t)
		b.until("the subagent is known", func() bool { now, _ := b.session(); return len(now.Subagents) == 1 })
		b.until("the task is done", func() bool { return b.done() == "two" })
		b.untilState(resume.Watching)
		require.Equal(t, 1, agenttest.Says(b.provider.Requests()[len(b.provider.Requests())-1].Prompts, told))
		row.did, row.outcome = "told it of its subagent", "finished"
	}}

	subagentAlone = situation{"limit in a subagent alone", func(t *testing.T, b *box, row *result) {
		b.start(b.config())
		row.provider = "usage_limit, for the subagent"
		b.provider.Child(subagentTask, agenttest.UsageLimit(time.Hour))
		b.provider.Script(startSubagent(true), agenttest.Text("An agent works on it."))
		agent := b.begin(prompt)
		agent.wait(t)
		b.until("it is told", func() bool { now, ok := b.session(); return ok && len(now.Subagents) == 1 })
		s, _ := b.session()
		require.Equal(t, resume.Watching, s.State)
		require.Contains(t, s.Reason, "1 subagent was stopped by usage limit: Look at part 1 (general-purpose)")
		before := b.provider.Requests()
		b.mustStayQuiet(before, 0)
		row.said = fmt.Sprintf("%d subagent stopped", len(s.Subagents))
		row.did, row.outcome = "told its user", "left to a person"
	}}
)
