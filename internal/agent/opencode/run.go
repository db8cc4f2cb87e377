package opencode

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// run returns the command that continues the session with the chosen flags, which replace the newer ones of its
// start.
func (a *Agent) run(s resume.Session, now current, w agent.Words, chosen, newer []string) agent.Plan {
	found, err := a.Find(s)
	if err != nil {
		return a.Missing()
	}
	carried, _ := a.Carry(s, newer...) // if the start was not seen, only the database tells
	args := slices.Concat([]string{"run", "--session", s.Key.ID, "--format", "json"}, chosen, carried.Args, words(w.Prompt))
	return agent.Plan{Run: a.Begin(found, now.Directory, carried, a.environment(found, s.Transcript), args...)}
}

// ownAgent returns the flag for the agent of the session.
func (c current) ownAgent() []string {
	if name := cmp.Or(c.Agent, c.prompt.Agent); plainName.MatchString(name) {
		return []string{"--agent", name}
	}
	return nil
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
