// Package tmux reads a pane of tmux and types into it; it also starts a session for a command
// that is to be typed into.
package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/procfs"
	"resumed/internal/sanitize"
	"resumed/internal/terminal"
)

type pane struct {
	program string // the path of tmux
	socket  string // of the server
	id      string // %N
}

// Find returns the pane that the environment of a process names, or nil.
func Find(environ []string) (terminal.Window, error) {
	id := procfs.Variable(environ, "TMUX_PANE")
	// SOCKET,PID,SESSION; the path of the socket may contain commas.
	fields := strings.Split(procfs.Variable(environ, "TMUX"), ",")
	if len(fields) < 3 || !isPaneID(id) {
		return nil, nil
	}
	socket := strings.Join(fields[:len(fields)-2], ",")
	if !filepath.IsAbs(socket) {
		return nil, nil
	}
	if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, &terminal.Refusal{Why: "its tmux server is gone"}
	}
	program, err := exec.LookPath("tmux")
	if err != nil {
		return nil, &terminal.Refusal{Why: "it is in tmux, and the program tmux was not found"}
	}
	return &pane{program: program, socket: socket, id: id}, nil
}

func isPaneID(id string) bool {
	digits, ok := strings.CutPrefix(id, "%")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func (*pane) Kind() string { return "tmux pane" }

func (p *pane) String() string {
	return fmt.Sprintf("pane %s of the tmux server at %s", p.id, p.socket)
}

const factsFormat = "#{pane_id}\t#{pane_pid}\t#{pane_tty}\t#{pane_in_mode}\t#{pane_synchronized}\t#{pane_input_off}\t#{pane_dead}\t" + inputFormat

// inputFormat changes with every key of a client that shows the pane: it is the second of the last
// one. send-keys does not change it. No key of a client reaches a pane that is not the active one
// of its window, or whose window no client shows. A client in control mode (iTerm2) types by
// send-keys, which tmux does not count.
const inputFormat = "#{?#{&&:#{pane_active},#{!=:#{window_active_clients},0}},#{session_activity},nobody}"

// Facts reads the state of the pane from the server. Keys must reach the program in it: not a mode of tmux,
// and not several panes at once.
func (p *pane) Facts(ctx context.Context) (terminal.Facts, error) {
	out, err := p.call(ctx, "display-message", "-p", "-t", p.id, factsFormat)
	if err != nil {
		return terminal.Facts{}, err
	}
	f := strings.Split(strings.TrimRight(out, "\n"), "\t")
	if len(f) != 8 {
		return terminal.Facts{}, fmt.Errorf("ask tmux for the pane: unexpected answer %q", out)
	}
	id, pid, tty, inMode, synchronized, off, died, last := f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
	on := func(flag string) bool { return flag != "" && flag != "0" }
	switch {
	case id != p.id || on(died):
		return terminal.Facts{}, &terminal.Refusal{Why: "its tmux pane is gone"}
	case on(inMode):
		return terminal.Facts{}, &terminal.Refusal{Why: "somebody reads back in its tmux pane", Passing: true}
	case on(synchronized):
		return terminal.Facts{}, &terminal.Refusal{Why: "what is typed into its tmux pane goes to other panes too", Passing: true}
	case on(off):
		return terminal.Facts{}, &terminal.Refusal{Why: "its tmux pane takes no input", Passing: true}
	}
	root, err := strconv.Atoi(pid)
	if err != nil {
		return terminal.Facts{}, fmt.Errorf("ask tmux for the pane's process: %w", err)
	}
	device, err := procfs.Terminal(tty)
	if err != nil {
		return terminal.Facts{}, fmt.Errorf("look at the pane's terminal: %w", err)
	}
	facts := terminal.Facts{Root: root, TTY: device, Mark: last}
	if last != "nobody" {
		second, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			return terminal.Facts{}, fmt.Errorf("ask tmux for the last key: %w", err)
		}
		facts.LastKey = time.Unix(second+1, 0)
	}
	return facts, nil
}

// Screen returns the text in the pane, and how it is shown.
func (p *pane) Screen(ctx context.Context) (string, error) {
	return p.call(ctx, "capture-pane", "-p", "-e", "-t", p.id)
}

// Write types a line.
func (p *pane) Write(ctx context.Context, text, mark string) error {
	return p.send(ctx, mark, "-l", "--", text)
}

// Press presses keys: tmux has the same names for them.
func (p *pane) Press(ctx context.Context, mark string, keys ...terminal.Key) error {
	args := make([]string, len(keys))
	for i, key := range keys {
		args[i] = string(key)
	}
	return p.send(ctx, mark, args...)
}

// send sends keys. The server compares the mark in the same step, before it reads from its clients
// again.
func (p *pane) send(ctx context.Context, mark string, args ...string) error {
	keys := []string{"send-keys", "-t", p.id}
	for _, arg := range args {
		keys = append(keys, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	same := "1"
	if mark != "" {
		same = "#{==:" + inputFormat + "," + mark + "}"
	}
	out, err := p.call(ctx, "if-shell", "-F", "-t", p.id, same, strings.Join(keys, " "), "display-message -p "+inUse)
	if err == nil && strings.TrimSpace(out) == inUse {
		return terminal.ErrInUse
	}
	return err
}

const inUse = "in-use"

// callTimeout bounds one call. A server that hangs must not block a resume for ever.
const callTimeout = 5 * time.Second

// call runs tmux, without a shell, and returns its output.
func (p *pane) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	// -u: without it tmux prints underscores for characters that the C locale does not have.
	cmd := exec.CommandContext(ctx, p.program, append([]string{"-u", "-S", p.socket}, args...)...)
	cmd.Env = childenv.Without(os.Environ(), "TMUX", "TMUX_PANE")
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch words := strings.TrimSpace(cmp.Or(stderr.String(), stdout.String())); {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case words != "":
		err = errors.New(words)
	}
	return "", fmt.Errorf("tmux %s: %w", args[0], err)
}

const (
	// serverPrefix begins the names of the servers that this program starts.
	serverPrefix = "resumed-"

	// programOption has the name of the command: tmux itself only knows of the shell around it.
	programOption = "@resumed_program"

	// noted runs a command and stores its last screen and exit code in a directory, as long as that exists. It
	// survives the keys that interrupt the command.
	noted = `trap : INT QUIT
"$@"
code=$?
if [ -d "$0" ]; then
	tmux capture-pane -p -J -S -100 -t "$TMUX_PANE" > "$0/screen"
	echo $code > "$0/code"
fi
exit $code`
)

// Show runs a command in its own tmux server, with the environment of the caller, in this terminal, until it
// ends or the user detaches, and returns its exit code.
func Show(argv []string, out, errOut io.Writer) (code int, err error) {
	note, err := os.MkdirTemp("", "resumed-shell-")
	if err != nil {
		return 0, fmt.Errorf("make a directory for the exit code: %w", err)
	}
	defer os.RemoveAll(note)
	dir, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("find the working directory: %w", err)
	}
	server := serverPrefix + strconv.Itoa(os.Getpid())
	show := exec.Command("tmux", showArgs(server, dir, note, argv)...)
	show.Stdin, show.Stdout, show.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Caught for this program only: when the window is closed the command continues to run, without a
	// message.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP)
	defer signal.Stop(closed)
	err = show.Run()
	data, noCode := os.ReadFile(filepath.Join(note, "code"))
	switch {
	case noCode == nil:
		screen, _ := os.ReadFile(filepath.Join(note, "screen")) // tmux itself removes it from the terminal
		if left := strings.TrimRight(string(screen), " \n"); left != "" {
			fmt.Fprintln(out, sanitize.Text(left))
		}
		return strconv.Atoi(strings.TrimSpace(string(data)))
	case exec.Command("tmux", "-L", server, "has-session", "-t", "resumed").Run() == nil: // it was only detached
		fmt.Fprintf(errOut, "It keeps running. To come back: tmux -L %s attach\n", server)
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("run tmux: %w", err)
	case errors.Is(noCode, fs.ErrNotExist):
		noCode = errors.New("the command left no exit code")
	}
	return 0, noCode
}

// showArgs returns the arguments of the tmux that starts a command and shows it in the current terminal.
func showArgs(server, dir, note string, argv []string) []string {
	args := []string{"-u", "-L", server, "new-session", "-s", "resumed", "-c", dir, "--", "sh", "-c", noted, note}
	for _, arg := range argv {
		if head, ok := strings.CutSuffix(arg, ";"); ok {
			arg = head + `\;` // tmux takes a last semicolon for the end of its command
		}
		args = append(args, arg)
	}
	return append(args,
		";", "set-option", "destroy-unattached", "off",
		";", "set-option", programOption, filepath.Base(argv[0]),
		";", "set-option", "status-right", "#{prefix} d detaches ")
}

// Running is a command that Show has started and that still runs, whether a terminal shows it or not.
type Running struct{ Server, Program, Dir string }

// StillRunning returns the commands that still run. A person who closed the window was not told how to come
// back.
func StillRunning() []Running {
	dir := filepath.Join(cmp.Or(os.Getenv("TMUX_TMPDIR"), "/tmp"), fmt.Sprintf("tmux-%d", os.Getuid()))
	sockets, _ := filepath.Glob(filepath.Join(dir, serverPrefix+"*")) // the pattern is valid
	var all []Running
	for _, socket := range sockets {
		name := filepath.Base(socket)
		out, err := exec.Command("tmux", "-u", "-L", name, "list-panes", "-s", "-t", "resumed", "-F", "#{?#{"+programOption+"},#{"+programOption+"},#{pane_current_command}} #{session_path}").Output()
		if err != nil {
			continue // it has ended and left its socket
		}
		first, _, _ := strings.Cut(string(out), "\n")
		program, path, _ := strings.Cut(first, " ")
		all = append(all, Running{name, program, path})
	}
	return all
}
