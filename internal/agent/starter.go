package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/leash"
	"resumed/internal/program"
	"resumed/internal/resume"
)

// Starter is an Agent that can also begin a session without a terminal.
type Starter interface {
	Agent

	// Starts reports whether it can.
	Starts() bool

	// Start returns the command that begins the session of a task, with the agent's default
	// permissions unless the task names others. The session has the task's id if the agent
	// allows to choose it.
	Start(task resume.Session) (Plan, error)

	// Home returns the account in which tasks begin.
	Home() string
}

// IDPrinter is a Starter whose sessions may choose their own ids.
type IDPrinter interface {
	Starter

	// ParseSessionID returns the session id in the output; empty: not printed yet, or it is the task's.
	ParseSessionID(printed string) string
}

// Starts reports that the agent can begin a session, if it has a Start.
func (b *Base) Starts() bool { return true }

// CannotStart returns the plan for a task of an agent that cannot begin a session.
func CannotStart(a interface{ Name() string }) Plan {
	return Parked("resumed cannot start a session of %s", a.Name())
}

// CheckTask returns what is wrong with a task, including what Start finds on this machine now.
func CheckTask(a Agent, s resume.Session) error {
	starter, ok := a.(Starter)
	if !ok {
		return errors.New(CannotStart(a).Skip.Why)
	}
	if err := resume.CheckPrompt(s.Task.Prompt); err != nil {
		return err
	}
	if !filepath.IsAbs(s.Cwd) {
		return fmt.Errorf("the directory %q is not an absolute path", s.Cwd)
	}
	if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not a directory you can work in", s.Cwd)
	}
	plan, err := starter.Start(s)
	if err == nil && plan.Skip != nil {
		err = errors.New(plan.Skip.Why)
	}
	return err
}

// Opening is how the program of an agent begins a session.
type Opening struct {
	Args  []string // the first arguments
	Env   func(program.Found) []string
	Mode  string                                      // the option for the permission mode; empty: there is none
	Modes []string                                    // what the option takes
	Say   func(args []string, prompt string) []string // appends the prompt; nil: by -p
}

// Open returns the plan to begin the session of a task with the program.
func (b *Base) Open(s resume.Session, o Opening) Plan {
	if leave := CheckDir(s, s.Cwd); leave != nil {
		return Plan{Skip: leave}
	}
	found, err := b.Find(resume.Session{})
	if err != nil {
		return b.Missing()
	}
	task, args := s.Task, slices.Clone(o.Args)
	if with := leash.WithModel(args, task.Model); task.Model != "" && len(with) == len(args) {
		return Parked("the model name %q has characters that are not allowed", task.Model)
	} else if task.Model != "" {
		args = with
	}
	switch {
	case task.Mode != "" && o.Mode == "":
		return Parked("%s takes no permission mode: its settings say what it may do", b.Name())
	case task.Mode != "" && !slices.Contains(o.Modes, task.Mode):
		return Parked("%q is no permission mode of %s: its %s takes %s", task.Mode, b.Name(), o.Mode, strings.Join(o.Modes, ", "))
	case task.Mode != "":
		args = append(args, o.Mode, task.Mode)
	}
	if o.Say == nil {
		o.Say = WithPrompt
	}
	run := b.NewCommand(found, s.Cwd, leash.Repeated{}, o.Env(found), o.Say(args, task.Prompt)...)
	run.Begins = args
	return Plan{Run: run}
}

// Open is Base.Open with the environment of the first home.
func (t *Transcripts) Open(s resume.Session, o Opening) Plan {
	o.Env = func(found program.Found) []string { return t.Environment(found, "") }
	return t.Base.Open(s, o)
}

// Home returns the account in which tasks begin: that of the first home.
func (t *Transcripts) Home() string { return t.Homes.Account(t.Homes.Roots[0]) }
