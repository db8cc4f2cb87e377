package custom

import (
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

var _ agent.Starter = (*Agent)(nil)

// Starts reports whether the user configured a start command.
func (a *Agent) Starts() bool { return len(a.start) > 0 }

// Home returns the account in which tasks begin.
func (a *Agent) Home() string { return a.Name() + ":default" }

// Start returns the command that begins the session of a task, with the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	switch {
	case !a.Starts():
		return agent.CannotStart(a), nil
	case task.Task.Model != "":
		return agent.Parked("%s takes no model: its start says what it is run with", a.Name()), nil
	case task.Task.Mode != "":
		return agent.Parked("%s takes no permission mode: its start says what it is run with", a.Name()), nil
	}
	if err := agent.CheckDir(task.Cwd); err != nil {
		return agent.Parked("%v", err), nil
	}
	found, err := program.Search{Command: a.start[0]}.Find(resume.Program{})
	if err != nil {
		return agent.Parked("%s was not found: give its full path in start of [[agent]]", a.start[0]), nil
	}
	return agent.Plan{Run: &agent.Command{
		Argv:   fill(found.Path, a.start[1:], task.Key.ID, task.Task.Prompt, task.Cwd),
		Dir:    task.Cwd,
		Env:    found.Environment(a.Env),
		Begins: []string{filepath.Base(a.start[0])},
	}}, nil
}
