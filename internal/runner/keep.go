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

// KeepCommand is the name under which the program itself takes the shell's place
// as keeper, in an image that holds nothing but the program. It is given the status
// file, the command's program and its arguments.
const KeepCommand = "keep-status"

// Keep does what the keeper's few lines of shell do, and returns the exit code.
func Keep(status string, argv []string) int {
	if os.WriteFile(status, nil, 0o600) != nil {
		return 126
	}
	ending := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}
	signal.Notify(make(chan os.Signal, 1), ending...) // the command gets them too, and it decides
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
		time.Sleep(time.Second) // it ends us before; where it does not, the code tells of it
	}
	return code
}

// exitCode says how a command ended, as a shell does.
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
