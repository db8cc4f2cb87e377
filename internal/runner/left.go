package runner

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/atomicfile"
	"resumed/internal/procfs"
	"resumed/internal/regular"
	"resumed/internal/resume"
)

// A command may end while no daemon runs that could read its exit status. So it runs under a
// short shell script, the keeper, that writes to a status file: first that the command starts
// and the pid, later how it ended. The keeper passes the arguments on unchanged, prints
// nothing and exits as the command did. A signal to end goes to the whole group, and the
// keeper waits for the command to handle it.
//
// A power cut can undo what the keeper wrote, because a shell cannot sync a file to disk. So
// the daemon first writes the file itself, with a sync and the id of the boot. Found in the
// same boot, that text means that the command was not started: the keeper would have
// replaced it. Found in a later boot, the command may have run, and is not run again.
const (
	shell  = "/bin/sh"
	keeper = `: > "$0" || exit 126
trap : HUP INT TERM
exec 3>&2 2>/dev/null
echo "pid $$" > "$0"
"$@" 2>&3 3>&-
code=$?
echo "$code" > "$0"
trap - HUP INT TERM
[ "$code" -gt 128 ] && kill "-$((code - 128))" $$
exit "$code"`
)

// about begins the text of a status file before its command is started.
const about = "boot "

// announce writes and syncs the status file of a command that is about to be started.
func announce(status string) error {
	if err := atomicfile.Write(status, []byte(about+cmp.Or(procfs.Boot(), rand.Text())+"\n"), 0o600); err != nil {
		return &StartError{What: "note that a command is about to be begun", Err: err, Later: true}
	}
	return nil
}

// kept returns the program and the arguments that run a command with these limits under the keeper.
// Without a shell the limits are not set.
func kept(program string, argv []string, status string, limits resume.ProcessLimits) (string, []string) {
	if _, err := os.Stat(shell); err != nil {
		if own, err := os.Executable(); err == nil {
			return own, append([]string{own, KeepCommand, status, program}, argv[1:]...)
		}
	}
	return shell, append([]string{shell, "-c", script(limits) + keeper, status, program}, argv[1:]...)
}

// Left is the content of a command's status file.
type Left struct {
	Began bool // it may have acted
	PID   int  // of the leader of its group; 0: not known
	Ended bool // and its exit code is known:
	Code  int  // the exit code; bySignal plus the number of the signal if one ended it
}

// ReadLeft reads a status file. One that is missing or unreadable gives the zero Left.
func ReadLeft(path string) Left {
	data, err := regular.Read(path)
	if err != nil {
		return Left{}
	}
	text := strings.TrimSpace(string(data))
	if boot, found := strings.CutPrefix(text, about); found {
		return Left{Began: boot != cmp.Or(procfs.Boot(), rand.Text())}
	}
	if pid, found := strings.CutPrefix(text, "pid "); found {
		number, _ := strconv.Atoi(pid) // 0 if it is not a number
		return Left{Began: true, PID: number}
	}
	code, err := strconv.Atoi(text)
	return Left{Began: true, Ended: err == nil, Code: code}
}

// Result returns how the command ended, as far as that is known.
func (l Left) Result() Result {
	if !l.Ended {
		return Result{}
	}
	return Result{Known: true, Err: exitError(l.Code)}
}

// bySignal is added to the number of a signal in the exit code of a command that one ended, as in shells.
const bySignal = 128

// exitError returns how a command with that exit code ended, in the words of os/exec; nil: well.
func exitError(code int) error {
	switch {
	case code == 0:
		return nil
	case code > bySignal:
		return fmt.Errorf("signal: %v", syscall.Signal(code-bySignal))
	default:
		return fmt.Errorf("exit status %d", code)
	}
}
