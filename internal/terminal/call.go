package terminal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"resumed/internal/procfs"
)

// callTimeout bounds one call. A server that hangs must not block a resume for ever.
const callTimeout = 5 * time.Second

// Call runs a program that controls terminals, without a shell, and returns its output.
func Call(ctx context.Context, environ []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer within %s", callTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch words := strings.TrimSpace(cmp.Or(stderr.String(), stdout.String())); {
	case err == nil:
		return stdout.String(), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case words != "":
		return "", errors.New(words)
	default:
		return "", err
	}
}

// bytesOf are the bytes that a terminal sends for a key by default.
var bytesOf = map[Key]string{Enter: "\r", Escape: "\x1b", LineStart: "\x01", LineEnd: "\x05", Delete: "\x1b[3~"}

// Bytes returns what a terminal sends for these keys.
func Bytes(keys ...Key) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(bytesOf[key])
	}
	return b.String()
}

// ReadEvery is how exactly Linux notes when a terminal was last read from.
const ReadEvery = 8 * time.Second

// LastInput returns when the program in a window may have got its last key, as far as the kernel
// tells. It is for programs that say nothing of keys. pid is the window's first process.
func LastInput(pid int, tty uint64) time.Time {
	path, err := os.Readlink(procfs.Proc.Path(pid, "fd", "0"))
	if number, unread := procfs.Terminal(path); err != nil || unread != nil || number != tty {
		return time.Time{}
	}
	at, err := procfs.LastRead(path)
	if err != nil {
		return time.Time{}
	}
	return at.Add(ReadEvery)
}
