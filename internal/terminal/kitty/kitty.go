// Package kitty asks kitty to read a window and to type into it, by its remote
// control on a socket.
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

// Hint says what makes a kitty take remote control.
const Hint = "put `allow_remote_control socket-only` and `listen_on unix:@kitty` into kitty.conf"

// window is one of a kitty.
type window struct {
	socket string // where it listens; "@name" has no file
	id     int
}

// Look returns the window that a process of that environment was told that it lives
// in, or nil. Sockets are never searched for: one that nobody told the agent of is
// somebody else's.
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

// checkFile refuses a socket that is not the user's own, before anything is said to it.
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

// Facts looks for the window among all that kitty has. Its terminal is that of its
// first process, as the kernel says.
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
	return terminal.Facts{Root: f.PID, TTY: stat.TTY}, nil
}

var errClosed = &terminal.Refusal{Why: "its kitty window is gone"}

// facts are what kitty says of a window.
type facts struct {
	ID    int `json:"id"`
	PID   int `json:"pid"`
	Lines int `json:"lines"` // that it has room for
}

// among returns what a list of windows says of this one.
func (w *window) among(list string) (facts, error) {
	var screens []struct {
		Tabs []struct {
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
					return f, nil
				}
			}
		}
	}
	return facts{}, errClosed
}

// Screen returns the last rows of all that the window has: of what is seen kitty would return
// what somebody reads who has scrolled back, and that is not where keys go.
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

// rowsOf cuts a text into rows: a return ends each, and a new line the last one of
// a line that was too long.
func rowsOf(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\r")
	rows := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows
}

// Write types a line.
func (w *window) Write(ctx context.Context, text string) error { return w.send(ctx, text) }

// Press presses a key: its byte, as a terminal sends it to a program that asks for nothing else.
func (w *window) Press(ctx context.Context, key terminal.Key) error {
	return w.send(ctx, map[terminal.Key]string{terminal.Enter: "\r", terminal.Escape: "\x1b"}[key])
}

// send hands bytes to the window's program. Kitty does not say whether it did: the window that it
// names afterwards was there, for none comes back.
func (w *window) send(ctx context.Context, text string) error {
	data := "base64:" + base64.StdEncoding.EncodeToString([]byte(text))
	answers, err := w.call(ctx, command{Cmd: "send-text", Silent: true, Payload: map[string]any{"match": w.match(), "data": data}}, command{Cmd: "ls"})
	if err != nil {
		return err
	}
	if _, err := w.among(answers[0]); err != nil {
		return fmt.Errorf("type into %s: kitty did not name it afterwards", w) // no Refusal: it may have been typed
	}
	return nil
}

func (w *window) match() string { return "id:" + strconv.Itoa(w.id) }
