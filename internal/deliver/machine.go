package deliver

import (
	"context"
	"time"

	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/terminal"
	"resumed/internal/terminal/gnuscreen"
	"resumed/internal/terminal/kitty"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/tmux"
)

// Machine is where commands run and terminals are: this one, or a simulated one.
type Machine interface {
	// Start starts a command.
	Start(runner.Command) (Process, error)

	// Sees reports whether processes of an earlier daemon can be distinguished from others.
	Sees() bool

	// Find returns the living process with the mark, Adopt the one with that pid and start time, and
	// Answering any process with that pid.
	Find(mark string) (Process, bool)
	Adopt(resume.Process) (Process, bool)
	Answering(pid int, since time.Time) (Process, bool)

	// Left returns what a command wrote to its status file.
	Left(path string) runner.Left

	// Pane returns the terminal that a process runs in.
	Pane(context.Context, resume.Process) (Pane, error)
}

// Process is a command that runs, or ran.
type Process interface {
	Stop(context.Context) error
	Identity() resume.Process
	Began() time.Time
	Bind(runner.Command)
	Wait(context.Context) runner.Result
}

// Pane is a terminal that can be read and typed into.
type Pane interface {
	String() string
	Screen(context.Context) (string, error)

	// Quiet returns an error if a person uses the terminal. From then on Type and Press return
	// terminal.ErrInUse as soon as one does. TakeBack deletes a text that was typed.
	Quiet(context.Context) error
	TakeBack(ctx context.Context, text string) error
	Type(ctx context.Context, text string) error
	Press(context.Context, terminal.Key) error
}

// terminals are the terminals that can be typed into. The first ones run inside the others.
var terminals = []terminal.Look{tmux.Look, gnuscreen.Look, shellpty.Look, kitty.Look}

// here is this machine.
type here struct{}

func (here) Start(cmd runner.Command) (Process, error)       { return runner.Start(cmd) }
func (here) Sees() bool                                      { return runner.Sees() }
func (here) Find(mark string) (Process, bool)                { return runner.Find(mark) }
func (here) Adopt(process resume.Process) (Process, bool)    { return runner.Adopt(process) }
func (here) Left(path string) runner.Left                    { return runner.ReadLeft(path) }
func (here) Answering(pid int, at time.Time) (Process, bool) { return runner.Answering(pid, at) }

func (here) Pane(ctx context.Context, process resume.Process) (Pane, error) {
	return terminal.Find(ctx, process, terminals...)
}
