package tmux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ServerPrefix is how the names of servers begin that sessions live in.
const ServerPrefix = "resumed-"

// Session is a command in a server of its own: it has the environment of who
// started it, and ends with it.
type Session struct {
	Server string   // its name, for -L
	Dir    string   // where the command runs
	Argv   []string // the command
	Note   string   // a directory in which it is noted how it ended, as long as that is there
}

// noted runs a command and notes what it left on the screen and its exit code. It
// lives through the keys that interrupt the command.
const noted = `trap : INT QUIT
"$@"
code=$?
if [ -d "$0" ]; then
	tmux capture-pane -p -J -S -100 -t "$TMUX_PANE" > "$0/screen"
	echo $code > "$0/code"
fi
exit $code`

// Args are those of the tmux that begins the session and shows it in the terminal
// that it is started in.
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
		";", "set-option", "status-right", "#{prefix} d detaches ")
}

// Lives reports whether the session has not ended: somebody only left it.
func (s Session) Lives() bool {
	return exec.Command("tmux", "-L", s.Server, "has-session", "-t", "resumed").Run() == nil
}

// Left is a session that still runs, whether a terminal shows it or not.
type Left struct {
	Session
	Program string // what runs in it now
}

// StillRunning returns the sessions that this program began and that have not ended. Where
// the window was closed, nobody was told how to come back.
func StillRunning() []Left {
	dir := filepath.Join(cmp.Or(os.Getenv("TMUX_TMPDIR"), "/tmp"), fmt.Sprintf("tmux-%d", os.Getuid()))
	sockets, _ := filepath.Glob(filepath.Join(dir, ServerPrefix+"*")) // the pattern is a good one
	var all []Left
	for _, socket := range sockets {
		name := filepath.Base(socket)
		out, err := exec.Command("tmux", "-u", "-L", name, "list-panes", "-s", "-t", "resumed", "-F", "#{pane_current_command} #{session_path}").Output()
		if err != nil {
			continue // it has ended and left its socket
		}
		first, _, _ := strings.Cut(string(out), "\n")
		program, path, _ := strings.Cut(first, " ")
		all = append(all, Left{Session{Server: name, Dir: path}, program})
	}
	return all
}

// LastScreen returns what the command left on the screen when it ended: the screen
// itself ends with it.
func (s Session) LastScreen() string {
	data, _ := os.ReadFile(filepath.Join(s.Note, "screen")) // nothing is left where it cannot be read
	return strings.TrimRight(string(data), " \n")
}

// ErrNoCode is returned where a command left no exit code.
var ErrNoCode = errors.New("the command left no exit code")

// ExitCode returns that of the command, once it has ended.
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
