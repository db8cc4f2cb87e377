package qwen

import (
	"context"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session in its directory. The mode of approval is not recorded, so none is
// given: the run has what the user's settings say, and never more.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), nil
	}
	last, model, err := a.endOf(s, w)
	if plan, stands, err := agent.Standing(s, last, err); !stands {
		return plan, err
	}
	args := leash.WithModel([]string{"--resume", s.Key.ID}, model)
	return a.Run(s, s.Cwd, leash.Carried{}, leash.WithValue(args, "-p", "--prompt", w.Prompt)...), nil
}

// maxEndLines bounds how far back a chat is looked through.
const maxEndLines = 20_000

// endOf returns the last that happened to the session, beside prompts of our
// own, and the model it was asked of.
func (a *Agent) endOf(s resume.Session, w agent.Words) (last resume.Event, model string, err error) {
	visited := 0
	err = agent.LinesBack(s.Transcript, func(line agent.Line) bool {
		visited++
		r, ok := parse(line.Data)
		if line.Cut || !ok || r.IsSidechain {
			return visited < maxEndLines
		}
		event, happened := a.event(r, line)
		prompted, isPrompt := event.(resume.Prompted)
		ours := isPrompt && (agent.SentByUs(s, prompted.At) || strings.TrimSpace(r.text()) == strings.TrimSpace(w.Prompt))
		if happened && last == nil && !ours {
			last = event
		}
		if failure, failed := r.failed(); failed && model == "" {
			model = failure.Model
		}
		if r.Type == "assistant" && model == "" {
			model = r.Model
		}
		return visited < maxEndLines && (last == nil || model == "")
	})
	return last, model, err
}
