package deliver

import (
	"context"
	"fmt"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// leaving is a resume that is not sent for the reason that the agent gives.
func leaving(leave *agent.Leave, owner *resume.Owner) *resume.NotSent {
	return &resume.NotSent{Why: leave.Why, Park: leave.Park, Tell: leave.Tell, Until: leave.Until, Owner: owner}
}

// livePlan says how a session is continued that a live process holds, as far
// as the user wants it to be.
func livePlan(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, settings Settings) (agent.Plan, error) {
	holds := heldBy(owner)
	plan, err := a.Talk(ctx, session, owner, agent.Words{Prompt: settings.Prompt})
	if err != nil {
		return agent.Plan{}, err
	}
	switch passing := owner.Kind == "headless"; { // it ends by itself
	case plan == agent.Plan{} && settings.Live == Type && !passing: // there is no way to reach it
		return agent.Plan{Leave: &agent.Leave{Why: whatHelps + holds + ": it takes no prompt from outside", Tell: true}}, nil
	case plan == agent.Plan{}:
		return agent.Plan{Leave: &agent.Leave{Why: holds, Park: settings.Live == Notify && !passing}}, nil
	case plan.Leave != nil && !plan.Leave.Park:
		return plan, nil // it goes on by itself, or works
	case settings.Live == Ignore:
		return agent.Plan{Leave: &agent.Leave{Why: holds}}, nil
	case settings.Live == Notify:
		return agent.Plan{Leave: &agent.Leave{Why: holds, Park: true}}, nil
	case plan.Leave != nil:
		return agent.Plan{Leave: &agent.Leave{Why: holds + ": " + plan.Leave.Why, Park: true}}, nil
	}
	return plan, nil
}

// whatHelps begins the reason where a process lives and can be given nothing: that
// much fits into every terminal.
const whatHelps = "go on in its terminal, or quit it and it is continued: "

func heldBy(owner resume.Owner) string {
	words := fmt.Sprintf("a live process holds it: process %d (%s", owner.PID, owner.Kind)
	if owner.Tmux != "" {
		words += ", tmux " + owner.Tmux
	}
	return words + ")"
}
