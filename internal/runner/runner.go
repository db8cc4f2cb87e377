// Package runner runs a resume command in its own process group, or in its own unit of a
// service manager, with timeouts. A command outlives the daemon: its output goes to a file,
// and a later daemon finds it again by the mark in its environment or by its pid and start
// time.
package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"resumed/internal/childenv"
	"resumed/internal/resume"
	"resumed/internal/usermanager"
)

// DefaultGrace is the time between SIGTERM and SIGKILL.
const DefaultGrace = 10 * time.Second

// Command is a program to run. It is never given to a shell.
type Command struct {
	Argv   []string // Argv[0] is looked up in the PATH of its environment
	Dir    string   // an absolute path
	Base   []string // KEY=value, the environment that Env is added to; nil: the daemon's own
	Env    []string // KEY=value, added to Base
	Unset  []string // variables of Base that it does not get
	Output string   // the file that its output is appended to; empty: nowhere
	Status string   // the file in which its start and its exit code are written, also when no daemon runs; empty: none
	Mark   string   // goes into the environment as RESUMED_MARK

	Limits resume.ProcessLimits // zero: the daemon's own

	Bounds func() (timeout, stall time.Duration) // how long it may run and be silent, called at each check; 0: no limit; nil: neither
	Signs  func() []string                       // files in which a change is a sign of life, in addition to Output; nil: none
	Grace  time.Duration                         // from SIGTERM to SIGKILL; 0: DefaultGrace
}

func (c Command) bounds() (timeout, stall time.Duration) {
	if c.Bounds == nil {
		return 0, 0
	}
	return c.Bounds()
}

// signs returns the files in which a change is a sign of life, as far as they are known by now.
func (c Command) signs() []string {
	paths := []string{c.Output}
	if c.Signs != nil {
		paths = append(paths, c.Signs()...)
	}
	return paths
}

func (c Command) grace() time.Duration { return cmp.Or(c.Grace, DefaultGrace) }

// Environ returns the environment of the command.
func (c Command) Environ() []string {
	base := c.Base
	if base == nil {
		base = os.Environ()
	}
	return childenv.Agent(childenv.Without(base, c.Unset...), c.Dir, c.Mark, c.Env...)
}

// StartError says why a command was not started.
type StartError struct {
	What  string // what was tried
	Err   error
	Later bool // the disk is full or fails: it may be tried again. Otherwise a person has to fix it
}

func (e *StartError) Error() string { return e.What + ": " + e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }

func noProgram(name string, err error) error {
	return &StartError{What: fmt.Sprintf("find program %q", name), Err: err}
}

// Start starts the command. The error is a *StartError if its program or its directory cannot
// be used, or if its output or status file cannot be written.
func Start(cmd Command) (*Process, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return nil, errors.New("start command: it names no program")
	}
	if err := usableDir(cmd.Dir); err != nil {
		return nil, &StartError{What: fmt.Sprintf("enter directory %q", cmd.Dir), Err: err}
	}
	env := cmd.Environ()
	program, err := findProgram(cmd.Argv[0], cmd.Dir, env)
	if err != nil {
		return nil, err
	}
	output, err := openOutput(cmd.Output)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	if ok, err := startable(program); err != nil {
		return nil, err
	} else if ok && cmd.Status != "" { // for others, the start gives the better error
		program, cmd.Argv = kept(program, cmd.Argv, cmd.Status, cmd.Limits)
		if err := announce(cmd.Status); err != nil {
			return nil, err
		}
	}
	sealDescriptors()
	if cmd.Mark != "" && usermanager.Started() {
		if p := startUnit(program, cmd, env); p != nil {
			return p, nil
		}
	}

	child := &exec.Cmd{
		Path: program, Args: cmd.Argv, Dir: cmd.Dir, Env: env,
		Stdout: output, Stderr: output, // nil for stdin is /dev/null
		// Its own session: without a terminal to ask questions on and without a hangup when
		// the daemon's terminal closes, and one group to send signals to.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	switch err := child.Start(); {
	case err == nil:
		noteSession(child.Process.Pid)
		return follow(child, cmd), nil
	case errors.Is(err, fs.ErrNotExist): // the file exists, so its interpreter is missing
		return nil, missingInterpreter(program, err)
	case errors.Is(err, syscall.ENOEXEC):
		return nil, noProgram(program, errors.New("it is no program of this machine; a script begins with #! and what runs it"))
	default:
		return nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
}

func missingInterpreter(program string, err error) error {
	return noProgram(program, fmt.Errorf("its interpreter is missing: %w", err))
}

// follow reads the exit status of the child when it ends. The goroutine lives as long as the
// child: even a child that is left running must be reaped while this daemon lives.
func follow(child *exec.Cmd, cmd Command) *Process {
	p := &Process{
		Process: resume.Process{PID: child.Process.Pid},
		cmd:     cmd,
		started: time.Now(),
		ended:   make(chan struct{}),
	}
	// Even if it has ended: it is not reaped yet, so no other process has its pid.
	if start, err := StartTime(p.PID); err == nil {
		p.Start = start
	}
	go func() {
		p.exitErr = child.Wait()
		close(p.ended)
	}()
	return p
}

func usableDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return errors.New("not an absolute path")
	}
	info, err := os.Stat(dir)
	if inner, ok := errors.AsType[*os.PathError](err); ok {
		return inner.Err // the caller adds the path
	}
	if err != nil || !info.IsDir() {
		return cmp.Or[error](err, syscall.ENOTDIR)
	}
	return unix.Access(dir, unix.X_OK)
}

// Programs returns the paths that the command runs: its program, and the script if the program
// is an interpreter. Paths that are not found are left out: Start reports them.
func (c Command) Programs() []string {
	if len(c.Argv) == 0 || !filepath.IsAbs(c.Dir) {
		return nil
	}
	program, err := findProgram(c.Argv[0], c.Dir, c.Environ())
	if err != nil {
		return nil
	}
	if len(c.Argv) > 1 && strings.Contains(c.Argv[1], "/") {
		script := c.Argv[1]
		if !filepath.IsAbs(script) {
			script = filepath.Join(c.Dir, script)
		}
		if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() {
			return []string{program, script}
		}
	}
	return []string{program}
}

// findProgram skips relative entries of PATH: a file in a session's directory must not run because of its name.
func findProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := executable(path); err != nil {
			return "", noProgram(name, err)
		}
		return path, nil
	}
	list := childenv.Value(env, "PATH")
	for _, entry := range filepath.SplitList(list) {
		path := filepath.Join(entry, name)
		if filepath.IsAbs(entry) && executable(path) == nil {
			return path, nil
		}
	}
	return "", noProgram(name, fmt.Errorf("not in PATH (%s)", list))
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	}
	return unix.Access(path, unix.X_OK)
}

func openOutput(path string) (*os.File, error) {
	if path == "" {
		path = os.DevNull
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, &StartError{What: "create output directory", Err: err, Later: true}
	}
	// Appended, never truncated: the output of an earlier run is kept.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, &StartError{What: "open output file", Err: err, Later: true}
	}
	return file, nil
}
