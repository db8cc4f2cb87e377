package deliver

import (
	"context"
	"fmt"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// livePlan says how a session is continued that is open in a live process, as far
// as the user wants that. barred is why that process is given nothing as long as
// it lives; a reason that passes is none.
func livePlan(ctx context.Context, a agent.Planner, session resume.Session, owner resume.Owner, settings Settings) (plan agent.Plan, barred string, err error) {
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
		return agent.Plan{Leave: &agent.Leave{Why: openIn(owner) + ": " + barred, Park: settings.Live == Notify}}, barred, nil
	case plan == agent.Plan{}: // there is no way to reach it
		barred = "it takes no prompt from outside"
		return agent.Plan{Leave: &agent.Leave{Why: settings.outOfReach(owner, barred), Tell: true}}, barred, nil
	case plan.Leave != nil:
		barred = plan.Leave.Why
		return agent.Plan{Leave: &agent.Leave{Why: openIn(owner) + ": " + barred, Park: true}}, barred, nil
	default:
		return plan, "", nil
	}
}

// outOfReach says of a session that is open where nothing can be typed: where that
// is and what helps, which is all that a narrow line has room for, and then why.
func (s Settings) outOfReach(owner resume.Owner, why string) string {
	helps := "continue there, or quit it and resumed continues it"
	if s.leavesClosed() {
		helps = "continue there (if you quit it, resumed leaves it to you)"
	}
	return fmt.Sprintf("%s: %s; resumed cannot type there (process %d): %s", place(owner), helps, owner.PID, why)
}

// leavesClosed reports whether a session that its user closed after it was stopped is left alone.
func (s Settings) leavesClosed() bool { return s.Rules.Closed == resume.LeaveClosed }

// openIn begins a reason that is about the process that has the session open.
func openIn(owner resume.Owner) string {
	return fmt.Sprintf("%s (process %d)", place(owner), owner.PID)
}

func place(owner resume.Owner) string {
	if owner.Tmux != "" {
		return "open in tmux " + owner.Tmux
	}
	return "open in its terminal"
}
