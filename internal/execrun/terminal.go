package execrun

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the terminal that a command reads from. The command has its own process group, and
// only the foreground group may read: so the command has to be put there. nil: no terminal.
type terminal struct{ fd int }

// foreground makes attr put the child in the foreground of the terminal that is stdin, if this
// process is there now.
func foreground(stdin *os.File, attr *syscall.SysProcAttr) *terminal {
	if stdin == nil {
		return nil
	}
	t := &terminal{fd: int(stdin.Fd())}
	if !t.ours() {
		return nil // not a terminal, or another job is in the foreground
	}
	// A background process is stopped when it changes the foreground, or when it writes and
	// the terminal is set so.
	signal.Ignore(syscall.SIGTTOU)
	attr.Foreground, attr.Ctty = true, t.fd
	return t
}

// ours reports whether this process is in the terminal's foreground.
func (t *terminal) ours() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func (t *terminal) lend(group int) { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group) }

// takeBack puts this process in the foreground again.
func (t *terminal) takeBack() {
	if t != nil {
		t.lend(unix.Getpgrp()) // fails if the terminal is gone
	}
}
