package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// KeepCommand is the subcommand by which this program replaces the keeper's shell where there
// is no shell, as in an image with only this program. Its arguments are the status file, the
// command's program and the arguments of that.
const KeepCommand = "keep-status"

// Keep does the same as the keeper's shell script, and returns the exit code.
func Keep(status string, argv []string) int {
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

// exitCode returns the exit code that a shell would return.
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
