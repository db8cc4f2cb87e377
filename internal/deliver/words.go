package deliver

import (
	"context"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/prompt"
	"resumed/internal/resume"
)

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
	if caller, ok := a.(agent.Caller); ok && strings.Contains(text, prompt.InterruptedTool) {
		facts.Tool = caller.OpenTool(ctx, session)
	}
	return prompt.Fill(text, facts)
}
