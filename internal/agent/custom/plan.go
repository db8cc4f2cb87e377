package custom

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/lazy"
	"resumed/internal/process"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// safeID is an id that no program can mistake for an option or a path.
var safeID = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z._:-]*$`)

// Plan returns how the session is continued now: by the user's command, without a shell.
func (a *Agent) Plan(ctx context.Context, s resume.Session, prompt string) (agent.Plan, error) {
	if !safeID().MatchString(s.Key.ID) {
		return agent.Parked("the session id %q may hold letters, digits and . _ : - only, and begins with a letter or digit", s.Key.ID), nil
	}
	var last resume.Event // a file may contain several sessions
	err := agent.Back(ctx, a, agent.SourceOf(a, s.Transcript), s.Transcript, func(e agent.Evidence) bool {
		if e.Key == s.Key {
			last = e.Event
		}
		return last == nil && ctx.Err() == nil
	})
	err = errors.Join(err, ctx.Err())
	// It cannot be determined whether this is the same limit: lines may have no time of their own.
	_, stopped := last.(resume.Limited)
	if plan, still, err := agent.StillStoppedBy(s, last, err); !still && (err != nil || !stopped) {
		return plan, err
	}
	cwd := s.Cwd
	if cwd == "" && a.is.About != "" {
		return agent.Parked("no file at %s says where the session works", strings.ReplaceAll(a.is.About, "{session}", s.Key.ID)), nil
	}
	if cwd == "" {
		cwd = filepath.Dir(s.Transcript) // its directory is not known
	}
	plan := a.run("resume", a.is.Resume, s, prompt, cwd)
	// A command that begins with another program than the one that was seen in the container or sandbox enters it.
	if o := s.StartedWith(); plan.Run != nil && o != nil {
		plan.Run.Inside = !slices.Contains(o.Args, filepath.Base(a.is.Resume[0]))
	}
	return plan, nil
}

// run returns the plan to run a command of the user, with its placeholders replaced once: inserted values
// are not expanded again. key is the name of the command in the configuration.
func (a *Agent) run(key string, command []string, s resume.Session, prompt, cwd string) agent.Plan {
	if leave := agent.CheckDir(s, cwd); leave != nil {
		return agent.Plan{Skip: leave}
	}
	found, err := program.Search{Command: command[0]}.Find(resume.Program{})
	if err != nil {
		return agent.Parked("%s was not found: give its full path in %s of [[agent]]", command[0], key)
	}
	values := strings.NewReplacer("{session}", s.Key.ID, "{prompt}", prompt, "{cwd}", cwd)
	argv := []string{found.Path}
	for _, arg := range command[1:] {
		argv = append(argv, values.Replace(arg))
	}
	return agent.Plan{Run: &agent.Command{Argv: argv, Dir: cwd, Env: found.Environment(a.Env), Fixed: true}}
}

// Starts reports whether the user configured a start command.
func (a *Agent) Starts() bool { return len(a.is.Start) > 0 }

// Home returns the account in which tasks begin.
func (a *Agent) Home() string { return a.Name() + ":default" }

// Start returns the command that begins the session of a task, with the task's id.
func (a *Agent) Start(task resume.Session) (agent.Plan, error) {
	command := a.is.Start
	switch {
	case !a.Starts():
		return agent.CannotStart(a), nil
	case task.Task.Model != "":
		return agent.Parked("%s takes no model: its start says what it is run with", a.Name()), nil
	case task.Task.Mode != "":
		return agent.Parked("%s takes no permission mode: its start says what it is run with", a.Name()), nil
	}
	plan := a.run("start", command, task, task.Task.Prompt, task.Cwd)
	if plan.Run != nil {
		plan.Run.Begins = []string{filepath.Base(command[0])}
	}
	return plan, nil
}

// Writer returns the only process of the agent that writes the session's file, without child processes that inherited it.
// If there are several, the owner is not known. Other programs may write it too.
func (a *Agent) Writer(ctx context.Context, s resume.Session) int {
	writers, err := a.Processes.Writers(ctx, s.Transcript)
	writers = slices.DeleteFunc(writers, func(pid int) bool { return !a.runs(pid) })
	writers = a.Processes.WithoutDescendants(writers)
	if err != nil || len(writers) != 1 || a.Processes.Variable(writers[0], agent.MarkVariable) != "" {
		return 0
	}
	return writers[0]
}

// runs reports whether a process runs the agent's program: the configured one, else that of a command of the user.
func (a *Agent) runs(pid int) bool {
	var own []string
	if len(a.is.Program) > 0 {
		own = a.is.Program[:1]
	} else {
		for _, command := range [][]string{a.is.Resume, a.is.Start} {
			if len(command) > 0 {
				own = append(own, process.Called(command[0], command))
			}
		}
	}
	argv := a.Processes.Argv(pid)
	if len(argv) == 0 {
		return false
	}
	called := []string{process.Called(a.Processes.Executable(pid), argv), process.Called(argv[0], argv)}
	return slices.ContainsFunc(called, func(name string) bool { return name != "" && slices.Contains(own, name) })
}

// Origin returns the directory of a session's process, and the variables that matter to any program. Its
// Args are only names of programs: they tell whether the user's own command is one of them.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	o := a.Base.Origin(pid, secrets)
	if o == nil {
		return nil
	}
	if exe := a.Processes.Executable(pid); exe != "" {
		o.Args = append(o.Args, filepath.Base(exe))
	}
	for _, arg := range a.Processes.Argv(pid) {
		if name := filepath.Base(arg); name != "" && !strings.ContainsAny(arg, " \t\n=") {
			o.Args = append(o.Args, name)
		}
		if len(o.Args) > 2 {
			break // the program, or its interpreter and its script
		}
	}
	return o
}

// Runs reports whether the process seems to run the program that the configuration names, or that of a resume or a start.
func (a *Agent) Runs(pid int) bool {
	names := []string{process.NameOf(a.is.Resume), process.NameOf(a.is.Start)}
	if len(a.is.Program) > 0 {
		names = append(names, a.is.Program[0])
	}
	return a.Processes.Seems(pid, func(path string) bool { return path != "" && slices.Contains(names, filepath.Base(path)) })
}

// Owner returns the process that may hold the session: one that an earlier resume left behind, else one of
// the configured program, if it works in the session's directory or names the session.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if left, err := a.silentRun(ctx, s); left != nil || err != nil || len(a.is.Program) == 0 {
		return left, err
	}
	is := func(path string) bool { return filepath.Base(path) == a.is.Program[0] }
	return a.Processes.OwnerInDir(ctx, s, is, a.is.Program[1:]...)
}

// silentRun returns a process of an earlier resume after which neither progress nor a refusal was written: a
// command that goes into the background ends at once, before its work is done. After some output, a process
// that still runs, such as a server, holds nothing. What else a user's own agent holds cannot be known.
func (a *Agent) silentRun(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	silent := make(map[string]bool)
	for _, attempt := range s.Attempts {
		if attempt.Outcome == resume.NoProgress {
			silent[attempt.Mark] = true
		}
	}
	if len(silent) == 0 {
		return nil, nil
	}
	marked, err := a.Processes.Having(ctx, agent.MarkVariable)
	for pid, mark := range marked {
		if silent[mark] {
			return &resume.Owner{PID: pid, Kind: "headless"}, nil
		}
	}
	return nil, err
}
