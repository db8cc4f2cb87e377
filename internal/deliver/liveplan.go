package deliver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/prompt"
	"resumed/internal/resume"
)

// livePlan returns how a session is continued that is open in a live process, if the settings allow it.
// barred is why that process is never given a prompt; a reason that only holds for now is not barred.
func livePlan(ctx context.Context, a agent.Planner, session resume.Session, owner resume.Owner, settings Settings) (plan agent.Plan, barred string, err error) {
	plan, err = a.PlanLive(ctx, session, owner, words(ctx, a, session, settings))
	switch {
	case err != nil:
		return agent.Plan{}, "", err
	case plan.Skip != nil && !plan.Skip.Park: // it continues by itself, or works
		return plan, "", nil
	case plan == agent.Plan{} && owner.Kind == resume.Headless:
		return agent.Runs(owner), "", nil
	case settings.Live != Type:
		barred = fmt.Sprintf("resume.live is %q", settings.Live)
		return agent.Plan{Skip: &agent.Skip{Why: openIn(owner) + ": " + barred, Park: settings.Live == Notify}}, barred, nil
	case plan == agent.Plan{}: // there is no way to reach it
		barred = "it takes no prompt from outside"
		return agent.Plan{Skip: &agent.Skip{Why: settings.outOfReach(owner, barred), Tell: true}}, barred, nil
	case plan.Skip != nil:
		barred = plan.Skip.Why
		return agent.Plan{Skip: &agent.Skip{Why: openIn(owner) + ": " + barred, Park: true}}, barred, nil
	default:
		return plan, "", nil
	}
}

// outOfReach is the reason for a session that is open in a terminal that cannot be typed into.
func (s Settings) outOfReach(owner resume.Owner, why string) string {
	helps := "continue there, or quit it and resumed continues it"
	if s.leavesClosed() {
		helps = "continue there (if you quit it, resumed leaves it to you)"
	}
	return cannotType(owner, helps, why)
}

// cannotType is that reason. The place and the advice come first, because a narrow line has room only for them.
func cannotType(owner resume.Owner, helps, why string) string {
	return fmt.Sprintf("%s: %s; resumed cannot type there (process %d): %s", place(owner), helps, owner.PID, why)
}

// leavesClosed reports whether a stopped session is left alone after its user closed it.
func (s Settings) leavesClosed() bool { return s.Rules.Closed == resume.LeaveClosed }

// openIn is the beginning of a reason about the process that has the session open.
func openIn(owner resume.Owner) string {
	return fmt.Sprintf("%s (process %d)", place(owner), owner.PID)
}

func place(owner resume.Owner) string {
	where := "its terminal"
	if owner.Tmux != "" {
		where = "tmux " + owner.Tmux
	}
	return "open in " + cmp.Or(owner.App, where)
}

// words returns what the agent is told when it continues the session.
func words(ctx context.Context, a agent.Planner, session resume.Session, settings Settings) string {
	text := settings.Prompts.Of(session.Limit.Class)
	facts := prompt.Facts{Class: session.Limit.Class, Reset: session.Limit.Reset.At, Attempt: session.Tries()}
	if session.Run == nil {
		facts.Attempt++ // the next one
	}
	for _, sub := range session.Subagents {
		facts.Subagents = append(facts.Subagents, sub.Kind)
	}
	if caller, ok := a.(agent.OpenToolReader); ok && strings.Contains(text, prompt.InterruptedTool) {
		facts.Tool = caller.OpenTool(ctx, session)
	}
	return prompt.Fill(text, facts)
}
