// Package command runs a user's program for each notice.
package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/notify"
	"resumed/internal/ownership"
	"resumed/internal/sanitize"
)

// Options configure a program that is run for each notice.
type Options struct {
	notify.Common
	Run   []string // program and arguments; no shell reads them
	Trust ownership.Trust
}

// New checks the options of a channel that runs a program with the notice as JSON on its stdin; it runs
// nothing. The program's environment is the daemon's, without the variables that systemd set only for the
// daemon, and with RESUMED_EVENT, RESUMED_NOTICE_ID, RESUMED_TITLE and RESUMED_TEXT. If it does not exit
// with 0 it may be run again for the same notice, so it should use the id to recognise that.
func New(o Options) (*notify.Channel, error) {
	if len(o.Run) == 0 || o.Run[0] == "" {
		return nil, o.Wrong("run", "it names no program")
	}
	if err := ours(o.Trust, exec.Command(o.Run[0])); err != nil {
		return nil, o.Wrong("run", "%w", err)
	}
	o.To, o.Timeout = o.Run[0], cmp.Or(o.Timeout, 30*time.Second)
	common := o.Common
	common.Timeout *= 2 // Send bounds it, and says that the program was killed
	return notify.NewChannel(common, o)
}

// ours returns an error if another user can have written the program.
func ours(trust ownership.Trust, cmd *exec.Cmd) error {
	if wrong, ok := errors.AsType[*ownership.Error](trust.Check(cmd.Path)); ok {
		return fmt.Errorf("its program is not run: %w", wrong)
	}
	return nil // a missing program fails when it is run
}

// Send runs the program.
func (o Options) Send(ctx context.Context, n notify.Notice) (string, error) {
	body, _ := json.Marshal(n) // it was read from the outbox as JSON
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("it ran longer than %s and was killed", o.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Run[0], o.Run[1:]...)
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	var output lastBytes
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = childenv.Helper(os.Environ(), "RESUMED_EVENT="+string(n.Event), "RESUMED_NOTICE_ID="+n.ID, "RESUMED_TITLE="+n.Title, "RESUMED_TEXT="+n.Text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second // a child that escaped the group may hold our pipe

	if err := ours(o.Trust, cmd); err != nil {
		return "", err // it may be fixed before the notice is too old
	}
	if err := cmd.Start(); err != nil {
		err = fmt.Errorf("start command: %w", err)
		if passing(err) {
			return "", err
		}
		return "", &notify.SendError{Final: true, Err: err}
	}
	started.Store(cmd.Process.Pid, true)
	defer started.Delete(cmd.Process.Pid)
	err := cmd.Wait()
	words := sanitize.Short(string(output), 200)
	switch {
	case err == nil:
		return strings.TrimSpace("exit 0 " + words), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay): // it succeeded and left a child running
		return "exit 0", nil
	}
	err = fmt.Errorf("run %s: %w", o.Run[0], err)
	if words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	return "", err
}

// started are the programs that run.
var started sync.Map

// Started reports whether a process is a user's program that was started for a notice, and still runs.
func Started(pid int) bool {
	_, is := started.Load(pid)
	return is
}

// passing reports whether a program that could not be started may start later: it is just being
// written, or the machine lacks a resource.
func passing(err error) bool {
	errnos := []error{syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO, syscall.ESTALE}
	return slices.ContainsFunc(errnos, func(errno error) bool { return errors.Is(err, errno) })
}

type lastBytes []byte

func (l *lastBytes) Write(p []byte) (int, error) {
	all := append(*l, p...)
	*l = append((*l)[:0], all[max(0, len(all)-4<<10):]...)
	return len(p), nil
}
