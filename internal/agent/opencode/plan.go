package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

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
	// A server may continue a session that it had before, or whose process was not seen. A session of
	// another process had an environment that the server does not have.
	if o := s.StartedWith(); o == nil || o.Server {
		if plan, ok := a.through(ctx, now, w); ok {
			return plan, nil
		}
	}
	found, err := a.Find(s)
	if err != nil {
		return a.Missing(), nil
	}
	chosen, newer := now.chosen()
	carried, _ := a.Carry(s, newer...) // if the start was not seen, only the database tells
	args := slices.Concat([]string{"run", "--session", s.Key.ID, "--format", "json"}, chosen, carried.Args, words(w.Prompt))
	command := a.Begin(found, now.Directory, carried, a.environment(found, s.Transcript), args...)
	command.Spare = a.spare(now.prompt.Provider(), now.Directory)
	return agent.Plan{Run: command}, nil
}

// chosen returns the agent and model of the session's last prompt. By default opencode uses its usual agent, which
// may have more permissions, and the model of that, possibly of another provider. newer are the flags of the
// session's start that this replaces.
func (c current) chosen() (args, newer []string) {
	if name := cmp.Or(c.Agent, c.prompt.Agent); plainName.MatchString(name) {
		args, newer = append(args, "--agent", name), append(newer, "--agent")
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

// words returns the prompt as arguments. opencode joins arguments by spaces and quotes those that contain one, so
// each word is a separate argument.
func words(prompt string) []string {
	all := slices.DeleteFunc(strings.Split(prompt, " "), func(word string) bool { return word == "" })
	if slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") }) {
		return append([]string{"--"}, all...)
	}
	return all
}

// environment returns the variables with which a run finds the session's database.
func (a *Agent) environment(found program.Found, path string) []string {
	env := found.Environment(a.Env)
	dir, name := filepath.Dir(path), filepath.Base(path)
	if dir == a.homes.Usual && name == cmp.Or(a.only, a.brand.usualDatabase()) {
		return env
	}
	if filepath.Base(dir) == a.brand.program && dir != a.homes.Usual {
		env = append(env, "XDG_DATA_HOME="+filepath.Dir(dir)) // its logins are there too
	}
	return append(env, a.brand.variable("DB")+"="+path)
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
