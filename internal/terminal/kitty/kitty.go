// Package kitty reads a window of kitty and types into it, by kitty's remote control on a socket.
package kitty

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

// Hint says how a kitty is set to accept remote control.
const Hint = "put `allow_remote_control socket-only` and `listen_on unix:@kitty` into kitty.conf"

// window is a window of a kitty.
type window struct {
	socket string // where kitty listens; "@name" has no file
	id     int
}

// Look returns the window that the environment of a process names, or nil. It does not search
// for sockets: one that is not in the agent's environment may belong to another kitty.
func Look(environ []string) (terminal.Window, error) {
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
	if !strings.HasPrefix(socket, "@") {
		if err := checkFile(socket); err != nil {
			return nil, err
		}
	}
	return &window{socket: socket, id: id}, nil
}

var errStranger = &terminal.Refusal{Why: "the socket of its kitty belongs to another user"}

// checkFile refuses a socket of another user before anything is sent to it.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return &terminal.Refusal{Why: "its kitty is gone"}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
		return errStranger
	}
	return nil
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
	if f.Focused {
		input.Rest = terminal.RestFocused
	}
	return terminal.Facts{Root: f.PID, TTY: stat.TTY, Input: input}, nil
}

var errClosed = &terminal.Refusal{Why: "its kitty window is gone"}

// facts are kitty's information about a window.
type facts struct {
	ID    int `json:"id"`
	PID   int `json:"pid"`
	Lines int `json:"lines"` // the height of the window

	Focused bool `json:"is_focused"` // the keyboard types into it
}

// among finds this window in a list of windows.
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
func (w *window) Write(ctx context.Context, text, _ string) error { return w.send(ctx, text) }

// Press presses keys.
func (w *window) Press(ctx context.Context, _ string, keys ...terminal.Key) error {
	return w.send(ctx, terminal.Bytes(keys...))
}

// send sends bytes to the window's program. Kitty does not confirm it; but if the window is in
// the list afterwards, it existed before, because a closed window does not come back.
func (w *window) send(ctx context.Context, text string) error {
	data := "base64:" + base64.StdEncoding.EncodeToString([]byte(text))
	answers, err := w.call(ctx, command{Cmd: "send-text", Silent: true, Payload: map[string]any{"match": w.match(), "data": data}}, command{Cmd: "ls"})
	if err != nil {
		return err
	}
	if _, err := w.among(answers[0]); err != nil {
		return fmt.Errorf("type into %s: kitty did not name it afterwards", w) // not a Refusal: it may have been typed
	}
	return nil
}

func (w *window) match() string { return "id:" + strconv.Itoa(w.id) }
