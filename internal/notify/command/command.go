// Package command runs a program of the user's for each notice.
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
	"syscall"
	"time"

	"resumed/internal/childenv"
	"resumed/internal/notify"
	"resumed/internal/ownership"
	"resumed/internal/sanitize"
)

// Options describe a program that is run for each notice.
type Options struct {
	notify.Common
	Run     []string      // program and arguments; no shell reads them
	Timeout time.Duration // of one run; 0: DefaultTimeout
	Trust   ownership.Trust
}

// DefaultTimeout bounds one run of a command that is given no other.
const DefaultTimeout = 30 * time.Second

// Channel runs a program with the notice as JSON on its stdin. Its environment
// is the daemon's, without what systemd gave the daemon alone, and with
// RESUMED_EVENT, RESUMED_NOTICE_ID, RESUMED_TITLE and RESUMED_TEXT. It may be run again for the same notice
// when it ended other than by exit 0, so it should do its work by that id.
type Channel struct {
	notify.Base
	run     []string
	timeout time.Duration
	trust   ownership.Trust
}

// New checks the options; it runs nothing.
func New(o Options) (*Channel, error) {
	b, err := notify.NewBase(o.Common)
	if err != nil {
		return nil, err
	}
	if len(o.Run) == 0 || o.Run[0] == "" {
		return nil, o.Wrong("run", "it names no program")
	}
	if err := ours(o.Trust, exec.Command(o.Run[0])); err != nil {
		return nil, o.Wrong("run", "%w", err)
	}
	return &Channel{Base: b, run: slices.Clone(o.Run), timeout: cmp.Or(o.Timeout, DefaultTimeout), trust: o.Trust}, nil
}

// ours says that another user can have written the program.
func ours(trust ownership.Trust, cmd *exec.Cmd) error {
	if wrong, ok := errors.AsType[*ownership.Error](trust.Check(cmd.Path)); ok {
		return fmt.Errorf("its program is not run: %w", wrong)
	}
	return nil // what is not there is told by running it
}

// To returns the program.
func (c *Channel) To() string { return c.run[0] }

// Send runs the program.
func (c *Channel) Send(ctx context.Context, n notify.Notice) (string, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return "", &notify.PermanentError{Err: fmt.Errorf("encode notice: %w", err)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("it ran longer than %s and was killed", c.timeout))
	defer cancel()

	cmd := exec.CommandContext(ctx, c.run[0], c.run[1:]...)
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	said := &tail{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Env = childenv.Helper(os.Environ(), "RESUMED_EVENT="+string(n.Event), "RESUMED_NOTICE_ID="+n.ID, "RESUMED_TITLE="+n.Title, "RESUMED_TEXT="+n.Text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second // a child that escaped the group may hold our pipe

	if err := ours(c.trust, cmd); err != nil {
		return "", err // it may be mended before the notice is too old
	}
	if err := cmd.Start(); err != nil {
		err = fmt.Errorf("start command: %w", err)
		if passing(err) {
			return "", err
		}
		return "", &notify.PermanentError{Err: err}
	}
	err = cmd.Wait()
	words := sanitize.Short(said.String(), 200)
	switch {
	case err == nil:
		return strings.TrimSpace("exit 0 " + words), nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay): // it ended well and left a child behind
		return "exit 0", nil
	}
	err = fmt.Errorf("run %s: %w", c.run[0], err)
	if words != "" {
		err = fmt.Errorf("%w: %s", err, words)
	}
	return "", err
}

// passing reports whether a program that could not be started may start later: it
// is being written just now, or the machine is short of something.
func passing(err error) bool {
	for _, no := range []syscall.Errno{syscall.ETXTBSY, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO, syscall.ESTALE} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// tail keeps the last bytes that are written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
