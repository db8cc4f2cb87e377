package execrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"resumed/internal/childenv"
	"resumed/internal/sanitize"
)

const (
	// endGrace is the time between SIGTERM and SIGKILL.
	endGrace = 5 * time.Second

	// drain is how long output is still read after the command has ended: a process that it
	// left in the background may keep the pipe open for ever.
	drain = 2 * time.Second
)

// StartError is a command that could not be started.
type StartError struct {
	Code int // CodeNotFound or CodeCannotStart
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("start the command: %v", e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// command is one run of a program in its own process group.
type command struct {
	argv           []string
	dir            string
	unset          []string // variables that it does not get
	stdin          *os.File // nil: empty
	stdout, stderr *os.File
	holdBack       bool                             // standard output is not passed on, but returned
	observe        func(_ context.Context, pid int) // is called when it runs, until the context is done
}

type ending struct {
	code      int
	at        time.Time
	stdout    words // and stderr if both are the same file
	stderr    words
	document  []byte // standard output, if that was held back
	signalled bool   // a signal was passed on to the command
}

// run runs the command until it ends. When ctx ends first, the whole group is ended. Signals to
// this process are passed on to the group.
func (c command) run(ctx context.Context, relay *relay) (*ending, error) {
	child := exec.Command(c.argv[0], c.argv[1:]...)
	if child.Err != nil {
		return nil, cannotStart(child.Err)
	}
	child.Dir = c.dir // also sets PWD, which some agents prefer
	if len(c.unset) > 0 {
		child.Env = childenv.Without(child.Environ(), c.unset...)
	}
	child.WaitDelay = drain
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.stdin != nil {
		child.Stdin = c.stdin
	}
	terminal := foreground(c.stdin, child.SysProcAttr)

	end := new(ending)
	var document bytes.Buffer
	child.Stdout = &tee{c.stdout, &end.stdout}
	if c.holdBack {
		child.Stdout = &tee{&document, &end.stdout}
	}
	child.Stderr = child.Stdout
	if c.holdBack || !sameFile(c.stdout, c.stderr) { // otherwise one pipe, which keeps the order of the output
		child.Stderr = &tee{c.stderr, &end.stderr}
	}
	err := relay.attach(func() (int, error) {
		if err := child.Start(); err != nil {
			return 0, err
		}
		return child.Process.Pid, nil
	})
	if err != nil {
		terminal.takeBack()
		return nil, cannotStart(err)
	}
	group := child.Process.Pid
	var watchers sync.WaitGroup
	watchers.Go(func() { terminal.followStops(group) })
	ended := make(chan struct{})
	watchers.Go(func() { endWith(ctx, group, ended) })
	lives, over := context.WithCancel(ctx)
	watchers.Go(func() { c.observe(lives, group) })

	err = child.Wait()
	close(ended)
	over()
	watchers.Wait()
	terminal.takeBack()
	end.signalled, end.document = relay.detach(), document.Bytes()
	end.at = time.Now()
	end.code = exitCode(child.ProcessState)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && !errors.Is(err, exec.ErrWaitDelay) {
		return end, fmt.Errorf("pass on the command's output: %w", err)
	}
	return end, nil
}

// endWith ends the group when ctx ends before the command.
func endWith(ctx context.Context, group int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(-group, syscall.SIGTERM) // fails if the group has ended
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	_ = syscall.Kill(-group, syscall.SIGKILL) // also for processes that the command left behind
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return state.ExitCode()
}

func cannotStart(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &StartError{Code: CodeNotFound, Err: err}
	}
	return &StartError{Code: CodeCannotStart, Err: err}
}

func sameFile(a, b *os.File) bool {
	one, err := a.Stat()
	if err != nil {
		return false
	}
	other, err := b.Stat()
	return err == nil && os.SameFile(one, other)
}

type tee struct {
	out  io.Writer
	kept *words
}

func (t *tee) Write(p []byte) (int, error) {
	t.kept.add(p)
	return t.out.Write(p)
}

type input struct {
	file   *os.File
	offset int64 // where it began, if the file can be read again
	again  bool
	empty  bool // nothing can be read from it
}

func newInput(file *os.File) (*input, error) {
	in := &input{file: file}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the standard input: %w", err)
	}
	in.empty = info.Mode()&fs.ModeDevice != 0 // a terminal, or /dev/null
	if info.Mode().IsRegular() {
		in.offset, err = file.Seek(0, io.SeekCurrent)
		in.again = err == nil
	}
	return in, nil
}

// rewind makes the next run read the same input as the first, if that is possible.
func (in *input) rewind() error {
	if !in.again {
		return nil
	}
	if _, err := in.file.Seek(in.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read the standard input again: %w", err)
	}
	return nil
}

// spent reports whether the input cannot be read again.
func (in *input) spent() bool { return !in.again && !in.empty }

// kept is how much of a command's output is kept at each end: the beginning names the session,
// the end says why it failed.
const kept = 64 << 10

// words is the beginning and the end of a command's output.
type words struct {
	mu   sync.Mutex // guards the fields below
	head []byte
	tail []byte // the end of the output, with up to as much before it
	long bool   // the tail is not the whole output
}

func (w *words) add(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head = append(w.head, p[:min(kept-len(w.head), len(p))]...)
	w.long = w.long || len(w.tail)+len(p) > kept
	w.tail = append(w.tail, p[max(0, len(p)-kept):]...)
	if len(w.tail) > 2*kept { // not with every line, because that would copy all of it each time
		w.tail = append(w.tail[:0], newest(w.tail)...)
	}
}

func newest(tail []byte) []byte { return tail[max(0, len(tail)-kept):] }

// all returns the output without control characters; of a long one both ends.
func (w *words) all() string {
	w.mu.Lock()
	text := string(newest(w.tail))
	if w.long {
		text = string(w.head) + "\n" + text
	}
	w.mu.Unlock()
	return sanitize.Text(text)
}

// terminal is the terminal that a command reads from. The command has its own process group, and
// only the foreground group may read: so the command has to be put there. nil: no terminal.
type terminal struct{ fd int }

// foreground puts the child in the foreground of stdin's terminal, if this process is there now.
func foreground(stdin *os.File, attr *syscall.SysProcAttr) *terminal {
	if stdin == nil {
		return nil
	}
	t := &terminal{fd: int(stdin.Fd())}
	if !t.ours() {
		return nil // not a terminal, or another job is in the foreground
	}
	// A background process is stopped when it changes the foreground, or when it writes and
	// the terminal is set so.
	signal.Ignore(syscall.SIGTTOU)
	attr.Foreground, attr.Ctty = true, t.fd
	return t
}

func (t *terminal) ours() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func (t *terminal) lend(group int) { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) }

func (t *terminal) takeBack() {
	if t != nil {
		t.lend(unix.Getpgrp()) // fails if the terminal is gone
	}
}

const hardGrace = 2 * time.Second

// relay passes signals on to the command's group. Between runs a signal ends the wait.
type relay struct {
	cancel context.CancelCauseFunc
	quit   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	group  int        // 0: no command runs
	passed int        // how many signals were passed on to the group
	hard   *time.Timer
	last   syscall.Signal // that this process got; 0: none
}

// newRelay starts passing on signals; stop ends it.
func newRelay(signals <-chan os.Signal, cancel context.CancelCauseFunc) *relay {
	r := &relay{cancel: cancel, quit: make(chan struct{})}
	r.done.Go(func() {
		for {
			select {
			case <-r.quit:
				return
			case sig := <-signals:
				if sig, ok := sig.(syscall.Signal); ok {
					r.pass(sig)
				}
			}
		}
	})
	return r
}

func (r *relay) stop() {
	close(r.quit)
	r.done.Wait()
}

func (r *relay) pass(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = sig
	if r.group == 0 {
		r.cancel(&signalled{sig})
		return
	}
	group := r.group
	_ = syscall.Kill(-group, sig) // fails if it has just ended
	r.passed++
	if r.passed == 2 {
		r.hard = time.AfterFunc(hardGrace, func() { r.kill(group) })
	}
}

// got returns the last signal that this process got; 0: none.
func (r *relay) got() syscall.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *relay) kill(group int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.group == group { // otherwise another group may have that number
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// attach starts the group that gets all signals from now on, also those that come during the start.
func (r *relay) attach(start func() (group int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	group, err := start()
	if err != nil {
		return err
	}
	r.group, r.passed = group, 0
	return nil
}

// detach marks the group as ended, and reports whether it got a signal.
func (r *relay) detach() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hard != nil {
		r.hard.Stop()
		r.hard = nil
	}
	r.group = 0
	return r.passed > 0
}
