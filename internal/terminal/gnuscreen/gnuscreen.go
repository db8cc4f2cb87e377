// Package gnuscreen reads a window of GNU screen and types into it, by the commands that its
// server takes from other programs.
package gnuscreen

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"resumed/internal/childenv"
	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

// window is a window of a server of GNU screen.
type window struct {
	program string // the path of screen
	server  int    // the server's pid
	session string // PID.NAME
	number  string // of the window, when it was made
	sockets string // the directory of the server's socket; "": the usual one
}

// Look returns the window that the environment of a process names, or nil.
func Look(environ []string) (terminal.Window, error) {
	w := &window{
		session: procfs.Variable(environ, "STY"), number: procfs.Variable(environ, "WINDOW"), sockets: procfs.Variable(environ, "SCREENDIR"),
	}
	pid, name, _ := strings.Cut(w.session, ".")
	server, err := strconv.Atoi(pid)
	if _, notNumber := strconv.ParseUint(w.number, 10, 16); notNumber != nil || err != nil || server <= 1 || name == "" || strings.Contains(name, "/") {
		return nil, nil
	}
	if runtime.GOOS != "linux" {
		return nil, &terminal.Refusal{Why: "it is in GNU screen, where resumed can type only on Linux", Outside: true}
	}
	if !procfs.Proc.Own(server) {
		return nil, &terminal.Refusal{Why: "its GNU screen is gone, or belongs to another user"}
	}
	if w.program, err = exec.LookPath("screen"); err != nil {
		return nil, &terminal.Refusal{Why: "it is in GNU screen, and the program screen was not found"}
	}
	w.server = server
	return w, nil
}

func (*window) Kind() string { return "window of GNU screen" }

func (w *window) String() string {
	return fmt.Sprintf("window %s of the GNU screen %s", w.number, w.session)
}

// Facts finds the first process of the window, and lets the server read the window: so it is there.
func (w *window) Facts(ctx context.Context) (terminal.Facts, error) {
	root, tty, err := w.first()
	if err != nil {
		return terminal.Facts{}, err
	}
	if _, err := w.Screen(ctx); err != nil {
		if _, gone := w.call(ctx, "-Q", "number"); gone != nil && strings.Contains(gone.Error(), "Could not find pre-select window") {
			err = &terminal.Refusal{Why: fmt.Sprintf("its GNU screen has no window %s any more: the number was changed", w.number)}
		}
		return terminal.Facts{}, err
	}
	input := w.shown()
	if input.Mark == "" {
		input.At = terminal.LastInput(root, tty)
	}
	return terminal.Facts{Root: root, TTY: tty, Input: input}, nil
}

// first returns the window's first process, and its terminal: the child of the server that was
// started with this number. The server itself does not tell. A number can be changed and used
// again, so there may be two such children.
func (w *window) first() (root int, tty uint64, err error) {
	pids, err := procfs.Proc.PIDs()
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range pids {
		stat, err := procfs.Proc.Stat(pid)
		if err != nil || stat.Parent != w.server || stat.TTY == 0 || !stat.Living() {
			continue
		}
		environ, err := procfs.Proc.Environ(pid)
		if err != nil || procfs.Variable(environ, "STY") != w.session || procfs.Variable(environ, "WINDOW") != w.number {
			continue
		}
		if root != 0 {
			return 0, 0, &terminal.Refusal{Why: fmt.Sprintf("two windows of its GNU screen were made with the number %s", w.number)}
		}
		root, tty = pid, stat.TTY
	}
	if root == 0 {
		return 0, 0, &terminal.Refusal{Why: "its window of GNU screen is gone"}
	}
	return root, tty, nil
}

// Screen returns the text in the window. The server writes it to a file, if there is such a window.
func (w *window) Screen(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "resumed-screen-") // nobody else may read it
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hardcopy")
	if err := w.do(ctx, func() error { return nil }, "hardcopy", file); err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read what GNU screen has written: %w", err)
	}
	return Restored(data), nil
}

// longestInput is less than the server accepts, in bytes.
const longestInput = 700

// Write types a line. What could not be read back, or not be taken back at once, is not typed.
func (w *window) Write(ctx context.Context, text, mark string) error {
	deletes := utf8.RuneCountInString(text) * len(terminal.Bytes(terminal.Delete))
	switch {
	case max(deletes, len(quoted(text))) > longestInput:
		return &terminal.Refusal{Why: "the prompt is too long for GNU screen"}
	case strings.ContainsFunc(text, func(r rune) bool { return r > lastTold }):
		return &terminal.Refusal{Why: "the prompt has letters that GNU screen does not show to other programs"}
	}
	return w.do(ctx, w.same(mark), "stuff", text)
}

// Press presses keys.
func (w *window) Press(ctx context.Context, mark string, keys ...terminal.Key) error {
	return w.do(ctx, w.same(mark), "stuff", terminal.Bytes(keys...))
}

// call sends a command to the window.
func (w *window) call(ctx context.Context, args ...string) (string, error) {
	environ := childenv.Without(os.Environ(), "STY", "WINDOW", "SCREENDIR")
	if w.sockets != "" {
		environ = append(environ, "SCREENDIR="+w.sockets)
	}
	out, err := terminal.Call(ctx, environ, w.program, append([]string{"-S", w.session, "-p", w.number}, args...)...)
	if err != nil {
		return "", fmt.Errorf("screen %s: %w", args[1], err)
	}
	return out, nil
}
