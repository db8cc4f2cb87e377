package qwen

import (
	"cmp"
	"context"
	"regexp"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session in its directory, with the flags that it was started with. The mode of
// approval is in no chat: where nobody saw how it was started, the run has what the
// user's settings say, and never more.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	if err := ctx.Err(); err != nil {
		return agent.Plan{}, err
	}
	if !agent.IsUUID(s.Key.ID) {
		return agent.Parked("the session id %q is none of %s", s.Key.ID, Name), nil
	}
	e, err := a.endOf(ctx, s, w)
	if plan, stands, err := agent.Standing(s, e.last, err); !stands {
		return plan, err
	}
	chosen, newer := e.chosen()
	carried, _ := a.Carry(s, newer...)
	args := slices.Concat([]string{"--resume", s.Key.ID}, chosen, carried.Args)
	plan := a.Run(s, s.Cwd, carried, leash.WithValue(args, "-p", "--prompt", w.Prompt)...)
	if plan.Run != nil {
		plan.Run.Spare = a.spare(e.auth, s)
	}
	return plan, nil
}

// end is how a chat ends.
type end struct {
	last  resume.Event // beside prompts of our own; nil: nothing happened
	model string       // that was asked last
	auth  string       // by which kind of login; empty: not told
}

var kindOfLogin = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// chosen returns what the session asked with last. newer are the flags that its
// start need not tell any more.
func (e end) chosen() (args, newer []string) {
	if args = leash.WithModel(nil, e.model); len(args) > 0 {
		newer = append(newer, "-m", "--model")
	}
	if kindOfLogin.MatchString(e.auth) {
		args, newer = append(args, "--auth-type", e.auth), append(newer, "--auth-type")
	}
	return args, newer
}

// endOf reads how the chat of a session ends.
func (a *Agent) endOf(ctx context.Context, s resume.Session, w agent.Words) (e end, err error) {
	e.last, err = agent.EndOf(ctx, s, w, func(line agent.Line) (resume.Event, string) {
		r, ok := parse(line.Data)
		if !ok || r.IsSidechain {
			return nil, ""
		}
		if failure, failed := r.failed(); failed && e.auth == "" {
			e.model, e.auth = cmp.Or(e.model, failure.Model), failure.Auth
		}
		if r.Type == "assistant" && e.model == "" {
			e.model = r.Model
		}
		event, _ := a.event(r, line)
		return event, r.text()
	}, func(last resume.Event) bool { return last == nil || e.model == "" })
	return e, err
}
