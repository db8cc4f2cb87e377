package codex

import (
	"context"

	"resumed/internal/agent"
	"resumed/internal/agent/codex/rollout"
	"resumed/internal/resume"
)

// Denied returns what a run was refused at last. A run without a terminal never
// asks: what would leave its sandbox is refused by Codex, or fails in it.
func (a *Agent) Denied(ctx context.Context, s resume.Session, run agent.Ran) (agent.Denial, bool, error) {
	if err := ctx.Err(); err != nil {
		return agent.Denial{}, false, err
	}
	had, _, err := rollout.LastTurn(ctx, s.Transcript)
	if err != nil {
		return agent.Denial{}, false, err
	}
	confined := had.Sandbox.Name() != fullAccess
	d, denied, _, err := agent.LastDenial(ctx, s.Transcript, run.Since, func(line agent.Line) agent.ToolUse {
		return rollout.Trace(line, confined)
	})
	return d, denied, err
}
