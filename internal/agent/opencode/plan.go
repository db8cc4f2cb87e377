package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/headless"
	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Plan returns how the session is continued now: by a headless run in its own directory, or through a server that
// has the session. The model and agent stay the same, and permissions are never widened.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Leave: leave}, err
	}
	if now.Two {
		return a.noBackground(), nil
	}
	// A server may continue a session that it had before, or whose process was not seen. A session of
	// another process had an environment that the server does not have.
	if o := s.StartedWith(); o == nil || o.Server {
		if plan, ok := a.through(ctx, now, w); ok {
			return plan, nil
		}
	}
	chosen, newer := now.chosen()
	plan := a.run(s, now, w, chosen, newer)
	if plan.Run != nil {
		plan.Run.Spare = a.spare(now.prompt.Provider(), now.Directory)
	}
	return plan, nil
}

// chosen returns the agent and model of the session's last prompt. By default opencode uses its usual agent, which
// may have more permissions, and the model of that, possibly of another provider. newer are the flags of the
// session's start that this replaces.
func (c current) chosen() (args, newer []string) {
	if args = c.ownAgent(); len(args) > 0 {
		newer = append(newer, "--agent")
	}
	model := c.prompt.Model
	with := leash.WithModel(args, model.Provider+"/"+model.ID)
	if model.Provider == "" || model.ID == "" || len(with) == len(args) {
		return args, newer
	}
	if variant := cmp.Or(model.Variant, c.prompt.Variant); plainName.MatchString(variant) {
		with = append(with, "--variant", variant)
	}
	return with, append(newer, "-m", "--model", "--variant")
}

// Start returns the command that begins the session of a task. Its JSON output contains the id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	home, name := a.homes.Roots[0], a.brand.usualDatabase()
	if home == a.homes.Usual {
		name = cmp.Or(a.only, name)
	}
	return a.Open(task, agent.Opening{
		Args: []string{"run", "--format", "json"},
		Env:  func(found program.Found) []string { return a.environment(found, filepath.Join(home, name)) },
		Say:  func(args []string, prompt string) []string { return slices.Concat(args, words(prompt)) },
	}), nil
}

var _ agent.Teller = (*Agent)(nil)

// Begun returns the id, which is in each line of a run.
func (a *Agent) Begun(printed string) string {
	return headless.ToldID(headless.Recording{Text: printed}, "sessionID")
}

// Home returns the account in which tasks begin.
func (a *Agent) Home() string { return a.homes.Account(a.homes.Roots[0]) }
