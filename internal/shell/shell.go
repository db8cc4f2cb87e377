// Package shell runs an agent in a pseudo-terminal of its own, inside the terminal that a person sits
// at, and lets the daemon read what it shows and type. All bytes pass through unchanged.
package shell

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"resumed/internal/lazy"
	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/terminal"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/tmux"
	"resumed/internal/terminal/vtscreen"
)

// silence is how long no output comes after the agent has ended before none is awaited.
const silence = 100 * time.Millisecond

// Shell is an agent in its own terminal.
type Shell struct {
	program string
	in, out *os.File      // the terminal of the person
	modes   *term.State   // of that terminal, before it was changed
	pty     *os.File      // our side of the agent's terminal
	tty     string        // the path of the agent's side
	leader  int           // the first process there, which starts the agent
	passed  atomic.Int64  // how often output was read and then shown, twice: it is odd in between
	moved   chan struct{} // there was output
	gate    *gate         // says who may read and type

	keyboard sync.Mutex // guards what follows, and keeps keys of the person and of the daemon apart
	keys     int        // how often the person has typed
	lastKey  time.Time

	display sync.Mutex // guards what follows
	screen  *vtscreen.Screen
}

// Options is what Run runs.
type Options struct {
	Program string      // the name of the command
	Leader  *exec.Cmd   // calls Lead for the command
	Dir     string      // of the socket
	Warn    func(error) // is called if there is no socket: the command runs all the same; and when it has ended, if a process was refused

	// Daemons returns new connections to the sockets on which the daemon may listen, wherever the shell's own
	// variables say. No others can read the screen and type.
	Daemons func() []net.Conn

	// Record is called with the processes in the terminal, a moment after output. It returns false if it
	// should be called again soon.
	Record func(pids []int) bool
}

// Run runs a command until it ends, in the terminal that is the standard input and output, and returns
// its exit code.
func Run(o Options) (code int, err error) {
	s := &Shell{program: o.Program, in: os.Stdin, out: os.Stdout, moved: make(chan struct{}, 1), gate: &gate{daemons: o.Daemons}}
	if s.modes, err = term.GetState(int(s.in.Fd())); err != nil {
		return 0, fmt.Errorf("read the modes of the terminal: %w", err)
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return 0, fmt.Errorf("make a terminal: %w", err)
	}
	s.pty, s.tty = ours, theirs.Name()          // ours is not closed: passKeys may use it until this process ends
	_ = term.Restore(int(theirs.Fd()), s.modes) // the agent finds what it would find without us
	s.screen = vtscreen.New(80, 24)
	s.resize()

	leader := o.Leader
	leader.Stdin, leader.Stdout, leader.Stderr = theirs, theirs, theirs
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	listener, err := shellpty.Listen(o.Dir)
	if err != nil {
		o.Warn(fmt.Errorf("the daemon cannot type here: %w", err))
	} else {
		defer listener.Close()
		leader.Env = append(os.Environ(), shellpty.Variable+"="+listener.Addr().String())
	}
	if err := leader.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", o.Program, err)
	}
	_ = theirs.Close() // the agent has it
	s.leader = leader.Process.Pid
	if listener != nil {
		go shellpty.Serve(listener, s.answer)
	}
	go s.record(o.Record)
	s.raw()
	defer func() {
		s.restore()
		if refused := s.gate.report(); refused != "" {
			o.Warn(errors.New(refused))
		}
	}()
	defer s.followSignals()() // before the modes are restored: it may change them
	go s.passKeys()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.passOutput()
	}()
	code = s.wait()
	if listener != nil {
		_ = listener.Close() // what the agent left behind is no longer below this process
	}
	s.drain(shown)
	if code > codeSignal {
		_, _ = s.out.WriteString(usualModes)
	}
	return code, nil
}

// codeSignal and the number of a signal is the exit code of a process that the signal has ended.
const codeSignal = 128

// usualModes ends what agents ask of a terminal and what one that was killed could not take back: the
// second screen, reports of the mouse, focus and pasted text, other keys, a hidden cursor.
const usualModes = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[?25h\x1b[0m\r\n"

// wait waits until the agent ends. If the agent stops, this process stops too, for the person's shell.
func (s *Shell) wait() (code int) {
	for {
		status, err := waitFor(s.leader, s.leader)
		switch {
		case err != nil:
			return codeSignal
		case status.Stopped():
			s.suspend()
		case status.Signaled():
			return codeSignal + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// waitFor waits for a process among others, -1 for all.
func waitFor(pid, among int) (syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(among, &status, syscall.WUNTRACED, nil)
		if err != nil && err != syscall.EINTR || ended == pid {
			return status, err
		}
	}
}

// drain waits until the last output is shown. If there is none for a while, a process that the agent
// left in the background has the terminal open.
func (s *Shell) drain(shown <-chan struct{}) {
	for {
		before := s.passed.Load()
		select {
		case <-shown:
			return
		case <-time.After(silence):
		}
		if before%2 == 0 && before == s.passed.Load() {
			return
		}
	}
}

// passOutput passes on what the agent prints. If the person's terminal is gone, it is read all the
// same: the agent would wait for ever otherwise.
func (s *Shell) passOutput() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.pty.Read(buf)
		s.passed.Add(1)
		_, _ = s.out.Write(buf[:n])
		s.display.Lock()
		_, _ = s.screen.Write(buf[:n])
		s.display.Unlock()
		s.passed.Add(1)
		select {
		case s.moved <- struct{}{}:
		default:
		}
		if err != nil {
			return // the agent has ended
		}
	}
}

// replies are what a terminal answers to questions of the agent: about itself, a position, a mode, a
// colour. No person has pressed a key then.
var replies = lazy.Regexp(`^(?:\x1b\[[?>=]?[0-9;]*(?:[cRnt]|\$y)|\x1b\[\?[0-9;]*u|\x1b[\]P_][^\x1b\x07]*(?:\x1b\\|\x07))+$`)

// passKeys passes on what the person types. At the end of it the person's terminal is gone.
func (s *Shell) passKeys() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.in.Read(buf)
		if n <= 0 && !s.gone() { // Ctrl-D in the moment before raw
			n, err = copy(buf, "\x04"), nil
		}
		if n <= 0 || err != nil {
			s.signal(syscall.SIGHUP)
			return
		}
		s.keyboard.Lock()
		if !replies().Match(buf[:n]) {
			s.keys++
			s.lastKey = time.Now()
		}
		_, _ = s.pty.Write(buf[:n]) // fails if the agent has ended
		s.keyboard.Unlock()
	}
}

func (s *Shell) gone() bool {
	_, err := term.GetState(int(s.in.Fd()))
	return err != nil
}

func (s *Shell) answer(caller *peer.Held, q shellpty.Question) shellpty.Answer {
	a := shellpty.Answer{PID: s.leader, TTY: s.tty, Program: filepath.Base(s.program)}
	if q.Empty() {
		return a
	}
	if err := s.gate.check(caller); err != nil {
		a.Refused = err.Error()
		return a
	}
	keys, err := q.Bytes()
	s.keyboard.Lock()
	if !s.lastKey.IsZero() {
		a.LastKey = s.lastKey.UnixNano()
	}
	a.Keys = s.keys
	switch {
	case err != nil || keys == "":
	case *q.IfKeys != s.keys:
		a.InUse = true
	default:
		_, err = s.pty.WriteString(keys)
	}
	s.keyboard.Unlock()
	if err != nil {
		a.Failed = "type for the daemon: " + err.Error()
	}
	if q.Screen {
		s.display.Lock()
		a.Screen = s.screen.Styled()
		s.display.Unlock()
	}
	return a
}

const (
	// recordEvery is how often the start of the agent is recorded, as long as it prints something. A
	// record only counts for the prompts before it.
	recordEvery = 5 * time.Second

	// recordAgain is the time to the next try if the agent's session is not known yet.
	recordAgain = 500 * time.Millisecond
)

// record records the start of the agent while it works, also for a daemon that runs later.
func (s *Shell) record(record func(pids []int) bool) {
	for range s.moved {
		pause := recordAgain
		if record(s.processes()) {
			pause = recordEvery
		}
		time.Sleep(pause)
	}
}

func (s *Shell) processes() (pids []int) {
	device, err := procfs.Terminal(s.tty)
	for stat := range procfs.Proc.Stats() {
		if err == nil && stat.TTY == device && stat.PID != s.leader {
			pids = append(pids, stat.PID)
		}
	}
	return pids
}

// Needless reports whether the daemon can type into the terminal of this process as it is.
func Needless(ctx context.Context) bool {
	_, err := terminal.Find(ctx, resume.Process{PID: os.Getpid()}, tmux.Find, shellpty.FindPlain)
	return err == nil
}
