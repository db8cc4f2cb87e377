package runner

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

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

// kept returns what runs a command under the keeper. Without a shell the limits are not set.
func kept(program string, argv []string, status string, limits resume.ProcessLimits) (string, []string) {
	if _, err := os.Stat(shell); err != nil {
		if own, err := os.Executable(); err == nil {
			return own, append([]string{own, KeepCommand, status, program}, argv[1:]...)
		}
	}
	return shell, append([]string{shell, "-c", script(limits) + keeper, status, program}, argv[1:]...)
}

// StatusFile is the content of a command's status file.
type StatusFile struct {
	Began bool // it may have acted

	// Announced says that its start was announced in this boot, and no more: if its process has ended, it could
	// not write the file, and has not begun the command.
	Announced bool

	PID   int  // of the leader of its group; 0: not known
	Ended bool // and its exit code is known:
	Code  int  // the exit code; bySignal plus the number of the signal if one ended it
}

// ReadStatusFile reads a status file. One that is missing or unreadable gives the zero Left.
func ReadStatusFile(path string) StatusFile {
	data, err := regular.Read(path)
	if err != nil {
		return StatusFile{}
	}
	text := strings.TrimSpace(string(data))
	if boot, found := strings.CutPrefix(text, about); found {
		announced := boot == cmp.Or(procfs.Boot(), rand.Text())
		return StatusFile{Began: !announced, Announced: announced}
	}
	if pid, found := strings.CutPrefix(text, "pid "); found {
		number, _ := strconv.Atoi(pid) // 0 if it is not a number
		return StatusFile{Began: true, PID: number}
	}
	code, err := strconv.Atoi(text)
	return StatusFile{Began: true, Ended: err == nil, Code: code}
}

// Result returns how the command ended, as far as that is known.
func (l StatusFile) Result() Result {
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

// shellLimits are the resource limits that a shell can set: the number of each, the letters that shells
// have for it, and the unit in bytes.
var shellLimits = []struct {
	resource int
	letters  string
	unit     uint64
}{
	{0, "t", 1}, {2, "d", 1024}, {3, "s", 1024}, {6, "up", 1}, {7, "n", 1}, {8, "l", 1024}, {9, "v", 1024},
}

const unlimited = ^uint64(0)

// script sets the limits. One that may not be raised stays: the command is then more restricted.
func script(l resume.ProcessLimits) string {
	var b strings.Builder
	if l.Umask != "" {
		fmt.Fprintf(&b, "umask %s\n", l.Umask)
	}
	for _, known := range shellLimits {
		if known.resource >= len(l.Resources) {
			break
		}
		limit := l.Resources[known.resource]
		for _, kind := range []struct {
			option string
			value  uint64
		}{{"-S", min(limit.Soft, limit.Hard)}, {"-H", limit.Hard}, {"-S", limit.Soft}} { // the soft limit first: it must not be above the hard one
			var tries []string
			for _, letter := range known.letters {
				tries = append(tries, fmt.Sprintf("ulimit %s -%c %s 2>/dev/null", kind.option, letter, shellValue(kind.value, known.unit)))
			}
			fmt.Fprintln(&b, strings.Join(append(tries, ":"), " || "))
		}
	}
	if l.Nice > 0 {
		fmt.Fprintf(&b, "n=$(nice 2>/dev/null) && [ \"$n\" -lt %d ] && set -- nice -n $((%d - n)) \"$@\"\n", l.Nice, l.Nice)
	}
	return b.String()
}

func shellValue(value, unit uint64) string {
	if value == unlimited {
		return "unlimited"
	}
	return fmt.Sprint(value / unit)
}

// KeepCommand is the subcommand by which this program replaces the keeper's shell where there
// is no shell, as in an image with only this program. Its arguments are the status file, the
// command's program and the arguments of that.
const KeepCommand = "keep-status"

// RunWithStatus does the same as the keeper's shell script, and returns the exit code.
func RunWithStatus(status string, argv []string) int {
	if os.WriteFile(status, nil, 0o600) != nil {
		return 126
	}
	ending := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}
	signal.Notify(make(chan os.Signal, 1), ending...) // the command gets them too, and decides what to do
	note := func(text string) { _ = os.WriteFile(status, []byte(text+"\n"), 0o600) }
	note(fmt.Sprintf("pid %d", os.Getpid()))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	code := exitCode(cmd.Run())
	note(fmt.Sprint(code))
	if code > 128 {
		signal.Reset(ending...)
		if syscall.Kill(os.Getpid(), syscall.Signal(code-128)) != nil {
			return code // it was no signal
		}
		time.Sleep(time.Second) // the signal ends this process first; if it does not, the exit code says the same
	}
	return code
}

func exitCode(err error) int {
	ended, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case !ok && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound)):
		return 127
	case !ok:
		return 126
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return ended.ExitCode()
}
