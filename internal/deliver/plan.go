package deliver

import (
	"context"
	"fmt"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// leaving is a resume that is not sent for the reason that the agent gives.
func leaving(leave *agent.Leave, owner *resume.Owner) *resume.NotSent {
	notSent := &resume.NotSent{Why: leave.Why, Until: leave.Until, Owner: owner}
	switch {
	case leave.Park:
		notSent.Then = resume.Park
	case leave.Tell:
		notSent.Then = resume.Tell
	}
	return notSent
}

// livePlan says how a session is continued that a live process holds, as far
// as the user wants it to be. barred is why that process is given nothing as long as
// it lives; what passes has no such reason.
func livePlan(ctx context.Context, a agent.Agent, session resume.Session, owner resume.Owner, settings Settings) (plan agent.Plan, barred string, err error) {
	plan, err = a.Talk(ctx, session, owner, agent.Words{Prompt: settings.Prompt})
	switch {
	case err != nil:
		return agent.Plan{}, "", err
	case plan.Leave != nil && !plan.Leave.Park: // it goes on by itself, or works
		return plan, "", nil
	case plan == agent.Plan{} && owner.Kind == resume.Headless:
		return agent.Runs(owner), "", nil
	case settings.Live != Type:
		barred = fmt.Sprintf("resume.live is %q", settings.Live)
		return agent.Plan{Leave: &agent.Leave{Why: heldBy(owner) + ": " + barred, Park: settings.Live == Notify}}, barred, nil
	case plan == agent.Plan{}: // there is no way to reach it
		barred = "it takes no prompt from outside"
		return agent.Plan{Leave: &agent.Leave{Why: settings.outOfReach(owner, barred), Tell: true}}, barred, nil
	case plan.Leave != nil:
		barred = plan.Leave.Why
		return agent.Plan{Leave: &agent.Leave{Why: heldBy(owner) + ": " + barred, Park: true}}, barred, nil
	default:
		return plan, "", nil
	}
}

// outOfReach says of a session that is open where nothing can be typed: where that
// is and what helps, which is all that a narrow line has room for, and then why.
func (s Settings) outOfReach(owner resume.Owner, why string) string {
	helps := "continue there, or quit it and resumed continues it"
	if s.Leaves {
		helps = "continue there (if you quit it, resumed leaves it to you)"
	}
	return fmt.Sprintf("%s: %s; resumed cannot type there (process %d): %s", place(owner), helps, owner.PID, why)
}

// heldBy begins a reason that is about the process that has the session open.
func heldBy(owner resume.Owner) string {
	return fmt.Sprintf("%s (process %d)", place(owner), owner.PID)
}

func place(owner resume.Owner) string {
	if owner.Tmux != "" {
		return "open in tmux " + owner.Tmux
	}
	return "open in its terminal"
}
