package runner

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"resumed/internal/atomicfile"
	"resumed/internal/regular"
)

// A command may end while no daemon runs that could take its exit status. So it
// runs under a few lines of shell that note in a small file that it was begun,
// before it is, under which number, and then how it ended. They are given its arguments as they are,
// say nothing themselves and end as it ended; a request to end goes to the whole
// group, and they wait for what the command makes of it.
//
// A power cut can undo whatever they note, for a shell cannot bring a file to the disk. So the
// daemon puts the file there before it starts them, on the disk, with the name of the
// time since the machine started. Found in that same time the words stand for a command that
// was not begun: its shell would have replaced them. Found later, nobody can
// tell any more, and what may have been done is not done twice.
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

// about is what a status file says before its command is begun.
const about = "boot "

// announce puts the status file of a command that is about to be begun on the disk.
func announce(status string) error {
	if err := atomicfile.Write(status, []byte(about+thisBoot()+"\n"), 0o600); err != nil {
		return &StartError{What: "note that a command is about to be begun", Err: err, Later: true}
	}
	return nil
}

// kept returns the program and the arguments that run a command under the keeper.
func kept(program string, argv []string, status string) (string, []string) {
	if _, err := os.Stat(shell); err != nil {
		if own, err := os.Executable(); err == nil {
			return own, append([]string{own, KeepCommand, status, program}, argv[1:]...)
		}
	}
	return shell, append([]string{shell, "-c", keeper, status, program}, argv[1:]...)
}

// Left is what a command left in its status file.
type Left struct {
	Began bool // it may have acted
	PID   int  // of what leads its group; 0: not known
	Ended bool // and its end is known:
	Code  int  // the exit code; 128 and the signal's number where one ended it
}

// ReadLeft reads a status file. One that is not there, or cannot be read, tells
// nothing.
func ReadLeft(path string) Left {
	data, err := regular.Read(path)
	if err != nil {
		return Left{}
	}
	text := strings.TrimSpace(string(data))
	if boot, found := strings.CutPrefix(text, about); found {
		return Left{Began: boot != thisBoot()}
	}
	if pid, found := strings.CutPrefix(text, "pid "); found {
		number, _ := strconv.Atoi(pid) // half of it is none
		return Left{Began: true, PID: number}
	}
	code, err := strconv.Atoi(text)
	return Left{Began: true, Ended: err == nil, Code: code}
}

// Result is how the command ended, as far as that is known.
func (l Left) Result() Result {
	switch {
	case !l.Ended:
		return Result{}
	case l.Code == 0:
		return Result{Known: true}
	case l.Code > 128:
		return Result{Known: true, Err: fmt.Errorf("signal: %v", syscall.Signal(l.Code-128))}
	default:
		return Result{Known: true, Err: fmt.Errorf("exit status %d", l.Code)}
	}
}
