// Package gnuscreen reads a window of GNU screen and types into it, by the commands that its
// server takes from other programs.
package gnuscreen

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resumed/internal/childenv"
	"resumed/internal/lazy"
	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

type window struct {
	program string // the path of screen
	server  int    // the server's pid
	session string // PID.NAME
	number  string // of the window, when it was made
	sockets string // the directory of the server's socket; "": the usual one

	patience time.Duration // how long the server may take to read commands
}

// Find returns the window that the environment of a process names, or nil.
func Find(environ []string) (terminal.Window, error) {
	w := &window{
		session: procfs.Variable(environ, "STY"), number: procfs.Variable(environ, "WINDOW"), sockets: procfs.Variable(environ, "SCREENDIR"),
		patience: 5 * time.Second,
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
	if _, err := procfs.Proc.PIDs(); err != nil {
		return 0, 0, err
	}
	for stat := range procfs.Proc.Stats() {
		if stat.Parent != w.server || stat.TTY == 0 {
			continue
		}
		environ, err := procfs.Proc.Environ(stat.PID)
		if err != nil || procfs.Variable(environ, "STY") != w.session || procfs.Variable(environ, "WINDOW") != w.number {
			continue
		}
		if root != 0 {
			return 0, 0, &terminal.Refusal{Why: fmt.Sprintf("two windows of its GNU screen were made with the number %s", w.number)}
		}
		root, tty = stat.PID, stat.TTY
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

// shown returns what is known of the keys that people press in GNU screen: when it last read from each
// of the terminals that show it. Where it is not known which of them the server has open (it runs with
// the rights of a group), all count that show a GNU screen. Nothing is known if there is none, or if the kernel
// does not tell.
func (w *window) shown() (input terminal.Input) {
	open, err := procfs.Proc.Open(w.server)
	private := err != nil || len(open) == 0
	var reads []string
	for stat := range procfs.Proc.Stats() {
		if stat.TTY == 0 || procfs.Proc.Status(stat.PID)["Name"] != "screen" {
			continue
		}
		path := fmt.Sprintf("/dev/pts/%d", stat.TTY&0xff|stat.TTY>>12&0xfff00)
		if number, err := procfs.Terminal(path); err != nil || number != stat.TTY {
			return terminal.Input{}
		}
		if !private && !slices.ContainsFunc(open, func(f procfs.File) bool { return f.Name == path }) {
			continue
		}
		at, err := procfs.LastRead(path)
		if err != nil {
			return terminal.Input{}
		}
		reads = append(reads, fmt.Sprintf("%s %d", path, at.UnixNano()))
		if at = at.Add(terminal.ReadEvery); at.After(input.At) {
			input.At = at
		}
	}
	slices.Sort(reads)
	input.Mark = strings.Join(slices.Compact(reads), ",")
	return input
}

// same returns a function that returns ErrInUse if a person has pressed a key since the mark was read.
func (w *window) same(mark string) func() error {
	return func() error {
		if mark != "" && w.shown().Mark != mark {
			return terminal.ErrInUse
		}
		return nil
	}
}

// comments are lines that the server skips, more of them than fit into a pipe.
var comments = strings.Repeat(strings.Repeat("#", 127)+"\n", 600)

// do lets the server carry out a command on the window, if ready returns no error, and returns when that
// is done. An error that is not a Refusal proves nothing: it may have been done.
//
// The server reads the command from a pipe, and reads no keys of anybody until the pipe is closed. If this
// process dies, the pipe is closed too. Neither a query (screen -Q) nor the command "at" is used: the server
// shows a message to the people who have the window open, and reads nothing from the program for seconds.
func (w *window) do(ctx context.Context, ready func() error, command, arg string) error {
	read, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer pipe.Close()
	dir, err := os.MkdirTemp("", "resumed-screen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a server that is late finds nothing, and no other file of this process
	path := filepath.Join(dir, "commands")
	if err := os.Symlink(procfs.Proc.Path(os.Getpid(), "fd", fmt.Sprint(read.Fd())), path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = pipe.SetWriteDeadline(time.Now()) })()
	if _, err := w.call(ctx, "-X", "source", path); err != nil {
		return err
	}
	// When all of them are written, the server has begun to read.
	if _, err := io.WriteString(pipe, comments); err != nil {
		return fmt.Errorf("its GNU screen does not read the commands of resumed: %w", cmp.Or(ctx.Err(), err))
	}
	if err := ready(); err != nil {
		return err
	}
	// When the comments behind it are written, the server has read the command, and carried it out.
	_, err = fmt.Fprintf(pipe, "%s \"%s\"\n%s", command, quoted(arg), comments)
	return err
}

// quoted marks what the server would interpret: control characters, variables, the end of the text.
func quoted(arg string) string {
	return strings.NewReplacer(`\`, `\\`, `^`, `\^`, `$`, `\$`, `"`, `\"`).Replace(arg)
}

// lastTold is the last character that screen 4 writes into a file as it is. Of every other one it
// writes the lowest byte.
const lastTold = '\u00ff'

// secondHalf is what it writes for the second column of a wide character.
const secondHalf = 0xff

// drawn are characters that agents draw with, by a lowest byte that is no other letter.
var drawn = map[byte]rune{0x00: '─', 0x02: '│', 0x14: '—', 0x19: '’', 0x94: '▔'}

// marks are characters that agents draw at the beginning of a row. Their lowest bytes are letters:
// ❯ is o. Where they may stand for either, the mark counts: it is what keeps a prompt from being
// typed.
var marks = []struct {
	row  func() *regexp.Regexp
	with string
}{
	{lazy.Regexp(`^( *)o([ \x{a0}]|$)`), "$1❯$2"},
	{lazy.Regexp(`^( *|.*-- INSERT -- )õõ `), "$1⏵⏵ "},
	{lazy.Regexp(`^( *|.*-- INSERT -- )ø `), "$1⏸ "},
	{lazy.Regexp(`^( *)\x{a0} (\S)`), "$1⚠ $2"},
	{lazy.Regexp(`^[;=63"&] (.*(?:\S&|\bRetrying in ))`), "✻ $1"},
	{lazy.Regexp(`^([✻·*] .*\S)&`), "$1…"},
	{lazy.Regexp(`(\S)&$`), "$1…"},
}

// Restored returns the text that GNU screen has written into a file, with the characters of which
// it has written only a part.
func Restored(data []byte) string {
	control := func(r rune) bool { return r < ' ' && r != '\n' }
	if utf8.Valid(data) && !bytes.ContainsFunc(data, control) {
		return string(data)
	}
	rows := bytes.Split(data, []byte("\n"))
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = restored(row)
	}
	return strings.Join(all, "\n")
}

func restored(row []byte) string {
	var b strings.Builder
	for _, c := range row {
		switch r, ok := drawn[c]; {
		case ok:
			b.WriteRune(r)
		case c < ' ':
			b.WriteRune(utf8.RuneError)
		case c != secondHalf:
			b.WriteRune(rune(c))
		}
	}
	text := b.String()
	for _, m := range marks {
		text = m.row().ReplaceAllString(text, m.with)
	}
	return text
}
