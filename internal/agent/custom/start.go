package custom

import (
	"path/filepath"

	"resumed/internal/agent"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Beginner is an agent of the user that can begin a session.
type Beginner struct{ *Agent }

var (
	_ agent.Reader  = Beginner{}
	_ agent.Starter = Beginner{}
)

// Begins returns the agent as a Beginner, if the user configured a start command.
func (a *Agent) Begins() agent.Agent {
	if len(a.start) == 0 {
		return a
	}
	return Beginner{a}
}

// Home returns the account in which tasks begin.
func (b Beginner) Home() string { return b.Name() + ":default" }

// Start returns the command that begins the session of a task, with the task's id.
func (b Beginner) Start(task resume.Session) (agent.Plan, error) {
	switch {
	case task.Task.Model != "":
		return agent.Parked("%s takes no model: its start says what it is run with", b.Name()), nil
	case task.Task.Mode != "":
		return agent.Parked("%s takes no permission mode: its start says what it is run with", b.Name()), nil
	}
	if leave := agent.CheckDir(task, task.Cwd); leave != nil {
		return agent.Plan{Leave: leave}, nil
	}
	found, err := program.Search{Command: b.start[0]}.Find(resume.Program{})
	if err != nil {
		return agent.Parked("%s was not found: give its full path in start of [[agent]]", b.start[0]), nil
	}
	return agent.Plan{Run: &agent.Command{
		Argv:   fill(found.Path, b.start[1:], task.Key.ID, task.Task.Prompt, task.Cwd),
		Dir:    task.Cwd,
		Env:    found.Environment(b.Env),
		Begins: []string{filepath.Base(b.start[0])},
	}}, nil
}
