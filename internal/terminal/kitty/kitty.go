// Package kitty reads a window of kitty and types into it, by kitty's remote control on a socket.
package kitty

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // for kitten
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/sanitize"
	"resumed/internal/terminal"
)

// Hint says how a kitty is set to accept remote control.
const Hint = "put `allow_remote_control socket-only` and `listen_on unix:@kitty` into kitty.conf"

type window struct {
	socket string // where kitty listens; "@name" has no file
	id     int
	tty    string // the terminal in it, where the kernel tells of what is read from it
}

// Find returns the window that the environment of a process names, or nil. It does not search
// for sockets: one that is not in the agent's environment may belong to another kitty.
func Find(environ []string) (terminal.Window, error) {
	id, err := strconv.Atoi(procfs.Variable(environ, "KITTY_WINDOW_ID"))
	if err != nil || id <= 0 {
		return nil, nil
	}
	address := procfs.Variable(environ, "KITTY_LISTEN_ON")
	socket, unix := strings.CutPrefix(address, "unix:")
	switch {
	case address == "":
		return nil, &terminal.Refusal{Why: "it was started from a kitty that takes no remote control", Outside: true, Helps: Hint}
	case !unix || !strings.HasPrefix(socket, "@") && !filepath.IsAbs(socket):
		return nil, &terminal.Refusal{Why: "its kitty does not listen on a unix socket", Outside: true, Helps: Hint}
	}
	return &window{socket: socket, id: id}, nil
}

func (*window) Kind() string { return "kitty window" }

func (w *window) String() string {
	return fmt.Sprintf("window %d of the kitty at %s", w.id, w.socket)
}

// Facts finds the window in kitty's list. Its terminal is that of its first process, as the
// kernel shows it.
func (w *window) Facts(ctx context.Context) (terminal.Facts, error) {
	answers, err := w.call(ctx, command{Cmd: "ls"})
	if err != nil {
		return terminal.Facts{}, err
	}
	f, err := w.among(answers[0])
	if err != nil {
		return terminal.Facts{}, err
	}
	stat, err := procfs.Proc.Stat(f.PID)
	if err != nil || !stat.Living() {
		return terminal.Facts{}, errClosed
	}
	input := terminal.Input{At: terminal.LastInput(f.PID, stat.TTY)}
	if !input.At.IsZero() {
		input.Mark = strconv.FormatInt(input.At.Add(-terminal.ReadEvery).UnixNano(), 10)
		w.tty, _ = os.Readlink(procfs.Proc.Path(f.PID, "fd", "0")) // which was read a moment ago
	}
	if f.Focused {
		input.Rest = restFocused
	}
	return terminal.Facts{Root: f.PID, TTY: stat.TTY, Input: input}, nil
}

// restFocused is the Rest of a window that has the keyboard: a person who pauses there goes on soon.
const restFocused = 30 * time.Second

var errClosed = &terminal.Refusal{Why: "its kitty window is gone"}

type facts struct {
	ID    int `json:"id"`
	PID   int `json:"pid"`
	Lines int `json:"lines"` // the height of the window

	Focused bool `json:"is_focused"` // the keyboard types into it
}

func (w *window) among(list string) (facts, error) {
	var screens []struct {
		Tabs []struct {
			Focused bool    `json:"is_focused"`
			Windows []facts `json:"windows"`
		} `json:"tabs"`
	}
	if err := json.Unmarshal([]byte(list), &screens); err != nil {
		return facts{}, fmt.Errorf("ask kitty for its windows: %w", err)
	}
	for _, screen := range screens {
		for _, tab := range screen.Tabs {
			for _, f := range tab.Windows {
				if f.ID == w.id && f.PID > 0 {
					f.Focused = f.Focused && tab.Focused
					return f, nil
				}
			}
		}
	}
	return facts{}, errClosed
}

// Screen returns the last rows of the whole text. For the visible part kitty would return what a
// person has scrolled back to, and keys do not go there.
func (w *window) Screen(ctx context.Context) (string, error) {
	answers, err := w.call(ctx, command{Cmd: "ls"}, command{Cmd: "get-text", Payload: map[string]any{
		"match": w.match(), "extent": "all", "wrap_markers": true,
	}})
	if err != nil {
		return "", err
	}
	f, err := w.among(answers[0])
	if err != nil {
		return "", err
	}
	rows := rowsOf(answers[1])
	return strings.Join(rows[max(0, len(rows)-f.Lines):], "\n") + "\n", nil
}

// rowsOf splits a text into rows: a return ends each row, and a newline the last row of a
// wrapped line.
func rowsOf(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\r")
	rows := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows
}

// Write types a line.
func (w *window) Write(ctx context.Context, text, mark string) error { return w.send(ctx, text, mark) }

// Press presses keys.
func (w *window) Press(ctx context.Context, mark string, keys ...terminal.Key) error {
	return w.send(ctx, terminal.Bytes(keys...), mark)
}

//go:embed kitten.py
var kitten []byte

// send lets kitty itself type, by a program that it runs: it looks for keys of a person in the same step.
func (w *window) send(ctx context.Context, text, mark string) error {
	dir, err := os.MkdirTemp("", "resumed") // of its own: kitty imports modules from where the program is
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.WriteFile(filepath.Join(dir, "kitten.py"), kitten, 0o600)
	}
	if err != nil {
		return &terminal.Refusal{Why: err.Error(), Passing: true}
	}
	args := []string{base64.StdEncoding.EncodeToString([]byte(text)), mark, w.tty}
	answers, err := w.call(ctx, command{Cmd: "kitten", Payload: map[string]any{"match": w.match(), "kitten": filepath.Join(dir, "kitten.py"), "args": args}})
	switch {
	case err != nil:
		return err
	case answers[0] == "in use":
		return terminal.ErrInUse
	case answers[0] == "typed, unmarked":
		return terminal.ErrUnmarked
	case answers[0] != "typed":
		return fmt.Errorf("type into %s: kitty does not tell whether it did", w) // not a Refusal: it may have been typed
	}
	return nil
}

func (w *window) match() string { return "id:" + strconv.Itoa(w.id) }

// callTimeout bounds one call. A kitty that hangs must not block a resume for ever; one that
// draws answers only after that, which takes long on a busy machine.
const callTimeout = 20 * time.Second

// command is a request to kitty, as JSON between two marks.
type command struct {
	Cmd     string         `json:"cmd"`
	Version [3]int         `json:"version"`
	Payload map[string]any `json:"payload,omitempty"`
}

// spoken is the version of the protocol: kitty refuses one that is newer than itself.
var spoken = [3]int{0, 20, 0}

// The marks around a message.
var (
	opens  = []byte("\x1bP@kitty-cmd")
	closes = []byte("\x1b\\")
)

var errRefused = errors.New("does not run")

// longestAnswer is far more than kitty sends about all its windows.
const longestAnswer = 16 << 20

// call sends commands to kitty and returns the answers. It does not use kitty's own program,
// because then it could not check which user listens.
func (w *window) call(ctx context.Context, commands ...command) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	conn, err := terminal.Dial(ctx, "kitty", w.socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	answers, err := ask(conn, commands)
	switch {
	case err == nil:
		return answers, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, errRefused):
		return nil, &terminal.Refusal{Why: "its kitty " + err.Error()} // a kitten that fails does so before it types
	}
	return nil, fmt.Errorf("kitty %s: %w", commands[0].Cmd, err)
}

func ask(conn net.Conn, commands []command) (answers []string, err error) {
	var message bytes.Buffer
	for _, c := range commands {
		c.Version = spoken
		text, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		message.Write(slices.Concat(opens, text, closes))
	}
	if _, err := conn.Write(message.Bytes()); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(io.LimitReader(conn, longestAnswer))
	for len(answers) < len(commands) {
		var said []byte
		for !bytes.HasSuffix(said, closes) { // JSON has backslashes too
			part, err := reader.ReadBytes(closes[len(closes)-1])
			if err != nil {
				return nil, fmt.Errorf("it hung up: %w", err)
			}
			said = append(said, part...)
		}
		_, said, _ = bytes.Cut(bytes.TrimSuffix(said, closes), opens)
		var answer struct {
			OK    bool   `json:"ok"`
			Data  string `json:"data"`
			Error string `json:"error"`
		}
		if err := json.Unmarshal(said, &answer); err != nil {
			return nil, fmt.Errorf("unexpected answer: %w", err)
		}
		if !answer.OK {
			why := sanitize.Line(answer.Error)
			if strings.HasPrefix(why, "Remote control") {
				why += " (it must allow ls, get-text and kitten; passwords for it are not supported)"
			}
			return nil, fmt.Errorf("%w the command %s: %s", errRefused, commands[len(answers)].Cmd, why)
		}
		answers = append(answers, answer.Data)
	}
	return answers, nil
}
