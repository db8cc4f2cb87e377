package opencode

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Plan says how the session is continued now: by a headless run of the same
// session in its own directory, or through a server that knows the session.
// Model and agent are the session's own, and its permissions are never widened.
func (a *Agent) Plan(ctx context.Context, s resume.Session, w agent.Words) (agent.Plan, error) {
	now, leave, err := a.stillStopped(ctx, s)
	if leave != nil || err != nil {
		return agent.Plan{Leave: leave}, err
	}
	// A server may go on with a session that it worked on before, or of which no process was
	// seen. A session of another process had an environment that the server has not.
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
	carried, _ := a.Carry(s, newer...) // of a start that was not seen there is only what the database tells
	args := slices.Concat([]string{"run", "--session", s.Key.ID, "--format", "json"}, chosen, carried.Args, words(w.Prompt))
	command := a.Begin(found, now.Directory, carried, a.environment(found, s.Transcript), args...)
	command.Spare = a.spare(now.prompt.Provider(), now.Directory)
	return agent.Plan{Run: command}, nil
}

// chosen returns what the session's last prompt was asked with. Left to itself
// opencode takes the usual agent, which may do more than the session's own, and
// the model of that, which may be another provider's.
// newer are the flags that the start of the session need not tell any more.
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

// words returns the prompt as arguments. opencode joins its arguments by blanks
// and puts quotes around those that contain one, so each word is its own.
func words(prompt string) []string {
	all := slices.DeleteFunc(strings.Split(prompt, " "), func(word string) bool { return word == "" })
	if slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, "-") }) {
		return append([]string{"--"}, all...)
	}
	return all
}

// environment returns what makes a run find the database that the session is in.
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

// Start returns the command that begins the session of a task. It prints for programs:
// that tells its id.
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

// Begun returns the id that each line of a run has.
func (a *Agent) Begun(printed string) string {
	return agent.ToldID(agent.Recording{Text: printed}, "sessionID")
}

// Home returns the account that tasks are begun in.
func (a *Agent) Home() string { return a.homes.Account(a.homes.Roots[0]) }
