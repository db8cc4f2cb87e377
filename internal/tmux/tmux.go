// Package tmux reads a pane, proves whose it is, and types into it; it begins a
// session for a command that is to be typed into.
package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/resume"
)

// callTimeout bounds one call of tmux. A server that hangs must not hold a
// resume for ever.
const callTimeout = 5 * time.Second

// Refusal says why a pane is not touched.
type Refusal struct {
	Why     string
	Passing bool // somebody is about: it may be over soon
	Outside bool // the process was not started in tmux
}

func (e *Refusal) Error() string { return e.Why }

// Pane is the terminal that a process lives in. Find makes one.
type Pane struct {
	program string // tmux
	socket  string // of the server
	id      string // %N
	process resume.Process
}

// Find returns the pane that the process lives in, and proves it. The error is
// a *Refusal where there is none, or where it is another's.
func Find(ctx context.Context, process resume.Process) (*Pane, error) {
	socket, id, err := environment(process.PID)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath("tmux")
	if err != nil {
		return nil, &Refusal{Why: "it is in tmux, and the program tmux was not found"}
	}
	p := &Pane{program: program, socket: socket, id: id, process: process}
	return p, p.prove(ctx)
}

// String names the pane for people.
func (p *Pane) String() string {
	return fmt.Sprintf("pane %s of the tmux server at %s", p.id, p.socket)
}

// environment returns where a process was told that it lives. It may have
// moved away since: that is what the proof is for.
func environment(pid int) (socket, id string, err error) {
	server, id, err := variables(pid)
	if err != nil {
		return "", "", err
	}
	// SOCKET,PID,SESSION; the socket's own path may hold commas.
	fields := strings.Split(server, ",")
	if len(fields) < 3 || !isPaneID(id) {
		return "", "", notInTmux()
	}
	socket = strings.Join(fields[:len(fields)-2], ",")
	if !filepath.IsAbs(socket) {
		return "", "", notInTmux()
	}
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return "", "", &Refusal{Why: "its tmux server is gone"}
	}
	return socket, id, nil
}

func notInTmux() error { return &Refusal{Why: "it is not in tmux", Outside: true} }

func isPaneID(id string) bool {
	digits, ok := strings.CutPrefix(id, "%")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// facts are what tmux says of a pane. Keys must reach the program on its
// screen: not a mode of tmux, not several panes at once.
type facts struct {
	id, pid, tty                    string
	inMode, synchronized, off, died bool
}

const factsFormat = "#{pane_id}\t#{pane_pid}\t#{pane_tty}\t#{pane_in_mode}\t#{pane_synchronized}\t#{pane_input_off}\t#{pane_dead}"

func (p *Pane) facts(ctx context.Context) (facts, error) {
	out, err := p.call(ctx, "display-message", "-p", "-t", p.id, factsFormat)
	if err != nil {
		return facts{}, err
	}
	f := strings.Split(strings.TrimRight(out, "\n"), "\t")
	if len(f) != 7 {
		return facts{}, fmt.Errorf("ask tmux for the pane: unexpected answer %q", out)
	}
	on := func(flag string) bool { return flag != "" && flag != "0" }
	return facts{id: f[0], pid: f[1], tty: f[2], inMode: on(f[3]), synchronized: on(f[4]), off: on(f[5]), died: on(f[6])}, nil
}

// prove returns nil where keys typed into the pane reach the process.
func (p *Pane) prove(ctx context.Context) error {
	f, err := p.facts(ctx)
	if err != nil {
		return err
	}
	switch {
	case f.id != p.id || f.died:
		return &Refusal{Why: "its tmux pane is gone"}
	case f.inMode:
		return &Refusal{Why: "somebody reads back in its tmux pane", Passing: true}
	case f.synchronized:
		return &Refusal{Why: "what is typed into its tmux pane goes to other panes too", Passing: true}
	case f.off:
		return &Refusal{Why: "its tmux pane takes no input", Passing: true}
	}
	return belongs(p.process, f.pid, f.tty)
}

// Screen returns the text that the pane shows, one line a row.
func (p *Pane) Screen(ctx context.Context) (string, error) {
	return p.call(ctx, "capture-pane", "-p", "-t", p.id)
}

// Type types the text as it is, and nothing after it. It proves again whose
// the pane is.
func (p *Pane) Type(ctx context.Context, text string) error {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return fmt.Errorf("type into %s: only one line of plain text can be typed", p)
	}
	if err := p.prove(ctx); err != nil {
		return err
	}
	if head, ok := strings.CutSuffix(text, ";"); ok {
		text = head + `\;` // tmux takes a last semicolon for the end of its command
	}
	_, err := p.call(ctx, "send-keys", "-t", p.id, "-l", "--", text)
	return err
}

// Key is a key that may be pressed. There are no others on purpose: digits and
// arrows choose from menus.
type Key string

// The keys.
const (
	Enter  Key = "Enter"
	Escape Key = "Escape"
)

// Press presses a key. It proves again whose the pane is.
func (p *Pane) Press(ctx context.Context, key Key) error {
	if key != Enter && key != Escape {
		return fmt.Errorf("press %q: not a key that is ever pressed", key)
	}
	if err := p.prove(ctx); err != nil {
		return err
	}
	_, err := p.call(ctx, "send-keys", "-t", p.id, string(key))
	return err
}

// call runs one command of tmux, without a shell, and returns what it printed.
func (p *Pane) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	// -u: without it tmux prints underscores for what a locale of C does not have.
	cmd := exec.CommandContext(ctx, p.program, append([]string{"-u", "-S", p.socket}, args...)...)
	cmd.Env = childenv.Without(os.Environ(), "TMUX", "TMUX_PANE")
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if words := strings.TrimSpace(stderr.String()); words != "" {
			err = errors.New(words)
		}
		return "", fmt.Errorf("tmux %s: %w", args[0], err)
	}
	return stdout.String(), nil
}
