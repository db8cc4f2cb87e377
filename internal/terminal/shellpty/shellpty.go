// Package shellpty reads the terminal that `resumed shell` has made for an agent, and types into it: by
// a socket of the process that holds it.
package shellpty

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

// Variable is the environment variable by which an agent tells the path of the socket.
const Variable = "RESUMED_SHELL"

type window struct {
	socket string
	looks  bool // it asks only what every process of the user is told
}

// Find returns the terminal that the environment of a process names, or nil. Only the daemon can use it.
func Find(environ []string) (terminal.Window, error) { return find(environ, false) }

// FindPlain is Find for other processes: Facts does not tell when a person has typed, and nothing else can be used.
func FindPlain(environ []string) (terminal.Window, error) { return find(environ, true) }

func find(environ []string, looks bool) (terminal.Window, error) {
	socket := procfs.Variable(environ, Variable)
	if !filepath.IsAbs(socket) {
		return nil, nil
	}
	return &window{socket, looks}, nil
}

func (*window) Kind() string { return "resumed shell" }

func (w *window) String() string { return "the resumed shell at " + w.socket }

// Facts asks for the first process, the terminal and the last key.
func (w *window) Facts(ctx context.Context) (terminal.Facts, error) {
	a, err := w.ask(ctx, Question{Input: !w.looks})
	if err != nil {
		return terminal.Facts{}, err
	}
	device, err := procfs.Terminal(a.TTY)
	if err != nil {
		return terminal.Facts{}, fmt.Errorf("look at the terminal of a resumed shell: %w", err)
	}
	facts := terminal.Facts{Root: a.PID, TTY: device, Mark: strconv.Itoa(a.Keys)}
	if a.LastKey != 0 {
		facts.LastKey = time.Unix(0, a.LastKey)
	}
	return facts, nil
}

// Screen returns the text in the terminal.
func (w *window) Screen(ctx context.Context) (string, error) {
	a, err := w.ask(ctx, Question{Screen: true})
	return a.Screen, err
}

// Write types a line.
func (w *window) Write(ctx context.Context, text, mark string) error {
	return w.send(ctx, Question{Text: text}, mark)
}

// Press presses keys.
func (w *window) Press(ctx context.Context, mark string, keys ...terminal.Key) error {
	return w.send(ctx, Question{Press: keys}, mark)
}

// tries is how often keys are sent that a person's keys may go before: nobody types that fast.
const tries = 100

func (w *window) send(ctx context.Context, q Question, mark string) error {
	for n := 1; ; n++ {
		before, err := strconv.Atoi(mark)
		if mark == "" {
			var a Answer
			a, err = w.ask(ctx, Question{Input: true})
			before = a.Keys
		}
		if err != nil {
			return fmt.Errorf("type into %s: %w", w, err)
		}
		q.IfKeys = &before
		switch a, err := w.ask(ctx, q); {
		case err != nil:
			return err
		case !a.InUse:
			return nil
		case mark != "" || n == tries:
			return terminal.ErrInUse
		}
	}
}

// Running is a `resumed shell` that runs.
type Running struct {
	PID     int // of the agent
	Program string
	Dir     string
}

// All returns those that have a socket in the directory. It removes sockets that were left behind.
func All(ctx context.Context, dir string) []Running {
	sockets, _ := filepath.Glob(filepath.Join(dir, "*"+socketSuffix)) // the pattern is valid
	var all []Running
	for _, socket := range sockets {
		a, err := (&window{socket: socket}).ask(ctx, Question{})
		if errors.Is(err, errGone) {
			_ = os.Remove(socket)
		}
		if err == nil {
			all = append(all, Running{PID: a.PID, Program: a.Program, Dir: cmp.Or(procfs.Proc.Cwd(a.PID), "?")})
		}
	}
	return all
}

const (
	// callTimeout bounds one question. A shell that is suspended does not answer.
	callTimeout = 5 * time.Second

	// longestAnswer and longestQuestion are far more than a screen and a prompt.
	longestAnswer   = 16 << 20
	longestQuestion = 64 << 10

	socketSuffix = ".sock"
)

// Question is one JSON object on a connection. Every process of the user may ask an empty one; all that it can have
// in it is for the daemon alone.
type Question struct {
	Input  bool           `json:"input,omitempty"` // when a person has typed
	Screen bool           `json:"screen,omitempty"`
	Text   string         `json:"text,omitempty"`  // a line of plain text to type,
	Press  []terminal.Key `json:"press,omitempty"` // or keys to press

	// IfKeys is the number of Answer.Keys: if a person has typed since, nothing is typed. Without it nothing is, either.
	IfKeys *int `json:"if_keys,omitempty"`
}

// Empty reports whether there is nothing in it for the daemon alone.
func (q Question) Empty() bool { return !q.Input && !q.Screen && q.Text == "" && len(q.Press) == 0 }

// Bytes returns what the question types: nothing that is not typed for a resume.
func (q Question) Bytes() (string, error) {
	switch {
	case q.Text == "" && len(q.Press) == 0:
		return "", nil
	case q.IfKeys == nil:
		return "", errors.New("the number of the person's keys is missing")
	case q.Text != "" && (len(q.Press) > 0 || !terminal.IsPlainLine(q.Text)), len(q.Press) > 0 && !terminal.IsPressed(q.Press):
		return "", errors.New("only one line of plain text, Enter and Escape can be typed")
	}
	var typed strings.Builder
	typed.WriteString(q.Text)
	for _, key := range q.Press {
		typed.WriteString(bytesOf[key])
	}
	return typed.String(), nil
}

// bytesOf is what a terminal sends for a key.
var bytesOf = map[terminal.Key]string{
	terminal.Enter: "\r", terminal.Escape: "\x1b", terminal.LineStart: "\x01", terminal.LineEnd: "\x05", terminal.Delete: "\x1b[3~",
}

// Answer is the answer, on the same connection.
type Answer struct {
	PID     int    `json:"pid"` // the first process in the terminal
	TTY     string `json:"tty"` // the path of the terminal
	Program string `json:"program"`
	Keys    int    `json:"keys"`               // how often a person has typed
	LastKey int64  `json:"last_key,omitempty"` // when, in nanoseconds since 1970; 0: never
	Screen  string `json:"screen,omitempty"`
	InUse   bool   `json:"in_use,omitempty"`  // nothing was typed, because a person types
	Refused string `json:"refused,omitempty"` // why the process that asks is not taken for the daemon
	Failed  string `json:"failed,omitempty"`  // why it could not be typed
}

func (w *window) ask(ctx context.Context, q Question) (a Answer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	conn, err := w.dial(ctx)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err = json.NewEncoder(conn).Encode(q); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, longestAnswer)).Decode(&a)
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && a.Refused != "":
		return a, &terminal.Refusal{Why: "the resumed shell there takes keys from the daemon alone: " + a.Refused}
	case err == nil && a.Failed != "":
		err = errors.New(a.Failed)
	}
	if err != nil {
		return a, fmt.Errorf("ask a resumed shell: %w", err)
	}
	return a, nil
}

var (
	errGone     = &terminal.Refusal{Why: "its resumed shell is gone"}
	errStranger = &terminal.Refusal{Why: "the socket of its resumed shell belongs to another user"}
)

// dial connects to the socket. It and the listener must be the user's own.
func (w *window) dial(ctx context.Context) (net.Conn, error) {
	if info, err := os.Stat(w.socket); err == nil && info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		return nil, errStranger
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", w.socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("reach resumed shell: %w", err)
	}
	uid, err := peer.UID(conn.(*net.UnixConn))
	if err == nil && uid != os.Getuid() {
		err = errStranger
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Listen opens the socket of this process in a directory of the user's own.
func Listen(dir string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, strconv.Itoa(os.Getpid())+socketSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier process with that pid
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

// Serve answers questions of the same user until the listener is closed. The caller is nil if it has ended, or
// cannot be seen.
func Serve(listener net.Listener, answer func(caller *peer.Held, q Question) Answer) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Second) // no file descriptors are left
			continue
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(callTimeout))
			var q Question
			caller, _ := peer.Hold(conn.(*net.UnixConn)) // the error is the same to everybody
			defer caller.Close()
			uid, err := peer.UID(conn.(*net.UnixConn))
			if err == nil && uid == os.Getuid() && json.NewDecoder(io.LimitReader(conn, longestQuestion)).Decode(&q) == nil {
				_ = json.NewEncoder(conn).Encode(answer(caller, q))
			}
		}()
	}
}
