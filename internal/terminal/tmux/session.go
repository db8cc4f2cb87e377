package tmux

import (
	"cmp"
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

	"resumed/internal/sanitize"
)

// ServerPrefix begins the names of the servers that this program starts.
const ServerPrefix = "resumed-"

// programOption has the name of the command: tmux itself only knows of the shell around it.
const programOption = "@resumed_program"

// Session is a command in its own tmux server: it has the environment of the caller, and the
// server ends with it.
type Session struct {
	Server string   // its name, for -L
	Dir    string   // where the command runs
	Argv   []string // the command
	Note   string   // a directory for the last screen and the exit code, as long as it exists
}

// noted runs a command and stores its last screen and exit code. It survives the keys that
// interrupt the command.
const noted = `trap : INT QUIT
"$@"
code=$?
if [ -d "$0" ]; then
	tmux capture-pane -p -J -S -100 -t "$TMUX_PANE" > "$0/screen"
	echo $code > "$0/code"
fi
exit $code`

// Show runs a command in its own tmux, in this terminal, until it ends or the user detaches, and
// returns its exit code.
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
	s := Session{Server: ServerPrefix + strconv.Itoa(os.Getpid()), Dir: dir, Argv: argv, Note: note}
	show := exec.Command("tmux", s.Args()...)
	show.Stdin, show.Stdout, show.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Caught for this program only: when the window is closed the command continues to run, without a
	// message.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP)
	defer signal.Stop(closed)
	err = show.Run()
	code, noCode := s.ExitCode()
	switch {
	case noCode == nil:
		if left := s.LastScreen(); left != "" {
			fmt.Fprintln(out, sanitize.Text(left))
		}
		return code, nil
	case s.Lives():
		fmt.Fprintf(errOut, "It keeps running. To come back: tmux -L %s attach\n", s.Server)
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("run tmux: %w", err)
	default:
		return 0, noCode
	}
}

// Args returns the arguments of the tmux that starts the session and shows it in the current
// terminal.
func (s Session) Args() []string {
	args := []string{"-u", "-L", s.Server, "new-session", "-s", "resumed", "-c", s.Dir, "--", "sh", "-c", noted, s.Note}
	for _, arg := range s.Argv {
		if head, ok := strings.CutSuffix(arg, ";"); ok {
			arg = head + `\;` // tmux takes a last semicolon for the end of its command
		}
		args = append(args, arg)
	}
	return append(args,
		";", "set-option", "destroy-unattached", "off",
		";", "set-option", programOption, filepath.Base(s.Argv[0]),
		";", "set-option", "status-right", "#{prefix} d detaches ")
}

// Lives reports whether the session has not ended: it was only detached.
func (s Session) Lives() bool {
	return exec.Command("tmux", "-L", s.Server, "has-session", "-t", "resumed").Run() == nil
}

// Left is a session that still runs, whether a terminal shows it or not.
type Left struct {
	Session
	Program string
}

// StillRunning returns the sessions that this program started and that still run. A person who
// closed the window was not told how to come back.
func StillRunning() []Left {
	dir := filepath.Join(cmp.Or(os.Getenv("TMUX_TMPDIR"), "/tmp"), fmt.Sprintf("tmux-%d", os.Getuid()))
	sockets, _ := filepath.Glob(filepath.Join(dir, ServerPrefix+"*")) // the pattern is valid
	var all []Left
	for _, socket := range sockets {
		name := filepath.Base(socket)
		out, err := exec.Command("tmux", "-u", "-L", name, "list-panes", "-s", "-t", "resumed", "-F", "#{?#{"+programOption+"},#{"+programOption+"},#{pane_current_command}} #{session_path}").Output()
		if err != nil {
			continue // it has ended and left its socket
		}
		first, _, _ := strings.Cut(string(out), "\n")
		program, path, _ := strings.Cut(first, " ")
		all = append(all, Left{Session{Server: name, Dir: path}, program})
	}
	return all
}

// LastScreen returns the screen at the end of the command: tmux itself removes it.
func (s Session) LastScreen() string {
	data, _ := os.ReadFile(filepath.Join(s.Note, "screen")) // empty if it cannot be read
	return strings.TrimRight(string(data), " \n")
}

// ErrNoCode says that a command stored no exit code.
var ErrNoCode = errors.New("the command left no exit code")

// ExitCode returns the exit code of the command after it has ended.
func (s Session) ExitCode() (int, error) {
	data, err := os.ReadFile(filepath.Join(s.Note, "code"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrNoCode
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}
