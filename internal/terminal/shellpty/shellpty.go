// Package shellpty reads the terminal that `resumed shell` has made for an agent, and types into it: by
// a socket of the process that holds it.
package shellpty

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

// Variable is the environment variable by which an agent tells the path of the socket.
const Variable = "RESUMED_SHELL"

// window is the terminal of one `resumed shell`.
type window struct{ socket string }

// Look returns the terminal that the environment of a process names, or nil.
func Look(environ []string) (terminal.Window, error) {
	socket := procfs.Variable(environ, Variable)
	if !filepath.IsAbs(socket) {
		return nil, nil
	}
	info, err := os.Lstat(socket)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, errGone
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
		return nil, errStranger
	}
	return &window{socket}, nil
}

var (
	errGone     = &terminal.Refusal{Why: "its resumed shell is gone"}
	errStranger = &terminal.Refusal{Why: "the socket of its resumed shell belongs to another user"}
)

func (*window) Kind() string { return "resumed shell" }

func (w *window) String() string { return "the resumed shell at " + w.socket }

// Facts asks for the first process, the terminal and the last key.
func (w *window) Facts(ctx context.Context) (terminal.Facts, error) {
	a, err := w.ask(ctx, Question{})
	if err != nil {
		return terminal.Facts{}, err
	}
	device, err := procfs.Terminal(a.TTY)
	if err != nil {
		return terminal.Facts{}, fmt.Errorf("look at the terminal of a resumed shell: %w", err)
	}
	facts := terminal.Facts{Root: a.PID, TTY: device, Input: terminal.Input{Mark: strconv.Itoa(a.Keys)}}
	if a.LastKey != 0 {
		facts.Input.At = time.Unix(0, a.LastKey)
	}
	return facts, nil
}

// Screen returns the text in the terminal.
func (w *window) Screen(ctx context.Context) (string, error) {
	a, err := w.ask(ctx, Question{Screen: true})
	return a.Screen, err
}

// Write types a line.
func (w *window) Write(ctx context.Context, text, mark string) error { return w.send(ctx, text, mark) }

// bytesOf are the bytes that a terminal sends for a key by default.
var bytesOf = map[terminal.Key]string{
	terminal.Enter: "\r", terminal.Escape: "\x1b", terminal.LineStart: "\x01", terminal.LineEnd: "\x05", terminal.Delete: "\x1b[3~",
}

// Press presses keys.
func (w *window) Press(ctx context.Context, mark string, keys ...terminal.Key) error {
	var text strings.Builder
	for _, key := range keys {
		text.WriteString(bytesOf[key])
	}
	return w.send(ctx, text.String(), mark)
}

func (w *window) send(ctx context.Context, text, mark string) error {
	q := Question{Type: text}
	if mark != "" {
		keys, err := strconv.Atoi(mark)
		if err != nil {
			return fmt.Errorf("type into %s: %w", w, err)
		}
		q.IfKeys = &keys
	}
	a, err := w.ask(ctx, q)
	if err == nil && a.InUse {
		return terminal.ErrInUse
	}
	return err
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
		a, err := (&window{socket}).ask(ctx, Question{})
		switch {
		case errors.Is(err, errGone):
			_ = os.Remove(socket)
		case err == nil:
			all = append(all, Running{PID: a.PID, Program: a.Program, Dir: cmp.Or(procfs.Proc.Cwd(a.PID), "?")})
		}
	}
	return all
}
