package opencode

import (
	"cmp"
	"path/filepath"
	"slices"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

var _ agent.Teller = (*Agent)(nil)

// Start returns the command that begins the session of a task. It prints for programs:
// that tells its id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	h := a.homes[0]
	return a.Open(task, agent.Opening{
		Args: []string{"run", "--format", "json"},
		Env: func(found program.Found) []string {
			return a.environment(found, filepath.Join(h.dir, cmp.Or(h.only, a.brand.usualDatabase())))
		},
		Say: func(args []string, prompt string) []string { return slices.Concat(args, words(prompt)) },
	}), nil
}

// Begun returns the id that each line of a run has.
func (a *Agent) Begun(printed string) string {
	return agent.ToldID(agent.Recording{Text: printed}, "sessionID")
}

// Home returns the account that tasks are begun in.
func (a *Agent) Home() string { return a.homes[0].account }
