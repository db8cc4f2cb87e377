// Package terminal finds the terminal of an agent, checks before every key that it is the right
// one, and types into it. The programs that can type (tmux, GNU screen, kitty) have packages of their own
// below this one.
package terminal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// Refusal says why a terminal is not used.
type Refusal struct {
	Why     string
	Passing bool // it may be over soon, as when a person uses the terminal
	Outside bool // the process was not started where anything can be typed
	Gone    bool // no program listens for what is typed any more

	// Helps is what a person can do to make it work the next time; "": nothing.
	Helps string
}

func (e *Refusal) Error() string { return e.Why }

// ErrInUse says that a person uses the terminal: nothing was typed.
var ErrInUse = &Refusal{Why: "somebody was at its keyboard just now", Passing: true}

// ErrUnmarked says that something was typed, and that its keys have changed the Input.Mark.
var ErrUnmarked = errors.New("its keys cannot be told apart from what was typed for it")

// quietFor is how long no key of a person must have come before something is typed.
const quietFor = 10 * time.Second

// Advice returns why nothing can be typed, and what helps at the next start of the program.
func (e *Refusal) Advice(program string) string {
	if !e.Outside {
		return e.Why
	}
	next := fmt.Sprintf("start it with `resumed shell %s`", program)
	if e.Helps != "" {
		next = e.Helps + ", or " + next
	}
	return fmt.Sprintf("%s; next time %s", e.Why, next)
}

// Key is a key that may be pressed. There are no others on purpose: digits and arrows choose
// from menus.
type Key string

// The keys. The last three only take back what was typed.
const (
	Enter     Key = "Enter"
	Escape    Key = "Escape"
	LineStart Key = "C-a"
	LineEnd   Key = "C-e"
	Delete    Key = "DC"
)

// Window is a terminal of a program that can read it and type into it. Its information counts
// only if the kernel confirms it.
type Window interface {
	// String names the window for people, Kind its type: "tmux pane".
	String() string
	Kind() string

	// Facts returns the present state of the window: a *Refusal if keys would not reach the
	// program in it.
	Facts(context.Context) (Facts, error)

	// Screen returns the text in the window, one line per row. Where the window tells what is dim or inverse,
	// the text has the sequences for that, and perhaps those for colours and links.
	Screen(context.Context) (string, error)

	// Write types one line of plain text, Press presses keys: all at once, with no key of a person
	// between them. If the window can compare its Input.Mark in the same moment and it is not the
	// given one, nothing is typed and the error is ErrInUse; "" is not compared. ErrUnmarked says that it
	// was typed.
	Write(ctx context.Context, text, mark string) error
	Press(ctx context.Context, mark string, keys ...Key) error
}

// Facts is what prove compares with the process.
type Facts struct {
	Root  int    // the window's first process
	TTY   uint64 // its terminal, in the kernel's numbering
	Input Input
}

// Input is what is known of the keys that people press in a window.
type Input struct {
	At   time.Time     // not before the last key; zero: no person can type there now, or it is not known
	Mark string        // changes with every key of a person; "": keys that were typed for us move At too
	Rest time.Duration // how much longer than quietFor no key must have come
}

// Finder returns the window that the environment of a process names, or nil if it names none. The
// process may have moved away since: prove checks that.
type Finder func(environ []string) (Window, error)

// Pane is the terminal of a process. Find makes one.
type Pane struct {
	window  Window
	process resume.Process
	quiet   *Input // as long as it stays so, no person has pressed a key; nil: not asked
	typed   bool   // our keys have changed the Input too, so that it tells nothing
}

// Find returns the terminal of the process, and proves it. The environment may name several, one
// inside the other: the one that is proved counts. The error is a *Refusal if there is none, or
// if it belongs to another process.
func Find(ctx context.Context, process resume.Process, looks ...Finder) (*Pane, error) {
	environ, err := procfs.Proc.Environ(process.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil, &Refusal{Why: fmt.Sprintf("process %d is gone", process.PID), Passing: true}
	}
	if err != nil {
		return nil, err // it has the pid in its text
	}
	var refused error
	for _, look := range looks {
		window, err := look(environ)
		if err == nil && window == nil {
			continue
		}
		if err == nil {
			p := &Pane{window: window, process: process}
			if _, err = p.prove(ctx); err == nil {
				return p, nil
			}
		}
		if refused == nil || weight(err) > weight(refused) {
			refused = err
		}
	}
	if refused == nil {
		refused = &Refusal{Why: "it is not in tmux, GNU screen or kitty", Outside: true}
	}
	return nil, refused
}

// weight orders reasons; the heaviest is reported: first one that may be over soon, then one of
// a terminal that exists.
func weight(err error) int {
	refusal, ok := errors.AsType[*Refusal](err)
	switch {
	case !ok || refusal.Passing:
		return 2
	case !refusal.Outside:
		return 1
	default:
		return 0
	}
}

// String names the terminal for people.
func (p *Pane) String() string { return p.window.String() }

// Screen returns the text in the terminal, as Window.Screen does.
func (p *Pane) Screen(ctx context.Context) (string, error) { return p.window.Screen(ctx) }

// Quiet returns ErrInUse if a person has pressed a key a moment ago. From then on Type and Press
// return it as soon as a person has pressed another one.
func (p *Pane) Quiet(ctx context.Context) error {
	p.quiet = nil
	facts, err := p.prove(ctx)
	if err != nil || p.typed {
		return err
	}
	if !facts.Input.At.IsZero() && time.Since(facts.Input.At).Abs() < quietFor+facts.Input.Rest {
		return ErrInUse
	}
	p.quiet = &facts.Input
	return nil
}

// mayType proves the terminal, and returns the mark that it must still have.
func (p *Pane) mayType(ctx context.Context) (mark string, err error) {
	facts, err := p.prove(ctx)
	switch {
	case err != nil:
		return "", err
	case p.quiet == nil:
		return "", nil
	case facts.Input != *p.quiet:
		return "", ErrInUse
	case facts.Input.Mark == "":
		p.quiet, p.typed = nil, true
	}
	return facts.Input.Mark, nil
}

// Type types the text and nothing after it. It proves the terminal again.
func (p *Pane) Type(ctx context.Context, text string) error {
	if !IsPlainLine(text) {
		return fmt.Errorf("type into %s: only one line of plain text can be typed", p)
	}
	mark, err := p.mayType(ctx)
	if err != nil {
		return err
	}
	return p.noteTyped(p.window.Write(ctx, text, mark))
}

// Press presses a key. It proves the terminal again.
func (p *Pane) Press(ctx context.Context, key Key) error {
	if key != Enter && key != Escape {
		return fmt.Errorf("press %q: not a key that is ever pressed", key)
	}
	mark, err := p.mayType(ctx)
	if err != nil {
		return err
	}
	return p.noteTyped(p.window.Press(ctx, mark, key))
}

// noteTyped returns the error of what was typed. If its keys cannot be told apart from a person's keys, only the
// input field is watched from then on.
func (p *Pane) noteTyped(err error) error {
	if errors.Is(err, ErrUnmarked) {
		p.quiet, p.typed = nil, true
		return nil
	}
	return err
}

// TakeBack deletes a text that was typed into an empty line, and nothing else: a person may have
// typed more behind it, and goes on there.
func (p *Pane) TakeBack(ctx context.Context, text string) error {
	if _, err := p.prove(ctx); err != nil {
		return err
	}
	return p.window.Press(ctx, "", takeBack(len([]rune(text)))...)
}

// takeBack are the keys that delete the first characters of a line.
func takeBack(characters int) []Key {
	return slices.Concat([]Key{LineStart}, slices.Repeat([]Key{Delete}, characters), []Key{LineEnd})
}

// IsPlainLine reports whether a text may be typed: it has no keys in it that would do something.
func IsPlainLine(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// IsPressed reports whether these keys are ever pressed together.
func IsPressed(keys []Key) bool {
	return slices.Equal(keys, []Key{Enter}) || slices.Equal(keys, []Key{Escape}) || len(keys) > 2 && slices.Equal(keys, takeBack(len(keys)-2))
}

// prove returns no error if keys typed into the window reach the process: it descends from the
// window's first process, has the window's terminal, and is in the foreground there. Keys for a
// program in the background, or in a terminal inside the window, would reach a shell or an
// editor.
func (p *Pane) prove(ctx context.Context) (Facts, error) {
	facts, err := p.window.Facts(ctx)
	if err != nil {
		return facts, err
	}
	pid := p.process.PID
	s, err := procfs.Proc.Stat(pid)
	switch {
	case err != nil || !s.Living() || p.process.Start != 0 && s.Start != p.process.Start:
		return facts, &Refusal{Why: fmt.Sprintf("process %d is gone", pid), Passing: true}
	case !descends(pid, facts.Root):
		return facts, &Refusal{Why: fmt.Sprintf("it does not belong to the %s that it names", p.window.Kind())}
	case s.TTY == 0 || s.TTY != facts.TTY:
		return facts, &Refusal{Why: fmt.Sprintf("it has another terminal than its %s", p.window.Kind())}
	case s.Group != s.Foreground || s.State == 'T' || s.State == 't':
		return facts, &Refusal{Why: fmt.Sprintf("process %d is not in the foreground of its %s", pid, p.window.Kind()), Passing: true}
	}
	return facts, nil
}

// maxDepth is far more than the depth of any process tree.
const maxDepth = 1000

func descends(pid, root int) bool {
	for range maxDepth {
		if pid == root {
			return true
		}
		s, err := procfs.Proc.Stat(pid)
		if err != nil || pid <= 1 {
			return false
		}
		pid = s.Parent
	}
	return false
}

// callTimeout bounds one call. A server that hangs must not block a resume for ever.
const callTimeout = 5 * time.Second

// Call runs a program that controls terminals, without a shell, and returns its output.
func Call(ctx context.Context, environ []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch words := strings.TrimSpace(cmp.Or(stderr.String(), stdout.String())); {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case words != "":
		return "", errors.New(words)
	default:
		return "", err
	}
}

// Dial connects to the socket on which a program, by its name for people, takes what is typed. Any user can
// listen on a name without a file, so the listener must be the same user.
func Dial(ctx context.Context, program, socket string) (net.Conn, error) {
	stranger := &Refusal{Why: "the socket of its " + program + " belongs to another user"}
	if ofAnother(socket) {
		return nil, stranger
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist):
		return nil, &Refusal{Why: "its " + program + " is gone", Gone: true}
	case err != nil:
		return nil, fmt.Errorf("reach %s: %w", program, err)
	}
	uid, err := peer.UID(conn.(*net.UnixConn))
	if err == nil && uid != os.Getuid() {
		err = stranger
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func ofAnother(file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Getuid()
}

var bytesOf = map[Key]string{Enter: "\r", Escape: "\x1b", LineStart: "\x01", LineEnd: "\x05", Delete: "\x1b[3~"}

// Bytes returns what a terminal sends for these keys.
func Bytes(keys ...Key) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(bytesOf[key])
	}
	return b.String()
}

// ReadEvery is how exactly Linux notes when a terminal was last read from.
const ReadEvery = 8 * time.Second

// LastInput returns when the program in a window may have got its last key, as far as the kernel
// tells. It is for programs that say nothing of keys. pid is the window's first process.
func LastInput(pid int, tty uint64) time.Time {
	path, err := os.Readlink(procfs.Proc.Path(pid, "fd", "0"))
	if number, unread := procfs.Terminal(path); err != nil || unread != nil || number != tty {
		return time.Time{}
	}
	at, err := procfs.LastRead(path)
	if err != nil {
		return time.Time{}
	}
	return at.Add(ReadEvery)
}
