package tmux

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

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
