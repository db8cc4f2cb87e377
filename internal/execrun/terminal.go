package execrun

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the one that a command reads from. The command has a process
// group of its own, and a terminal lets only one group read: it has to be lent.
// The nil terminal is none.
type terminal struct{ fd int }

// foreground has attr lend the terminal that stdin is, where it is ours to
// lend.
func foreground(stdin *os.File, attr *syscall.SysProcAttr) *terminal {
	if stdin == nil {
		return nil
	}
	t := &terminal{fd: int(stdin.Fd())}
	if !t.ours() {
		return nil // no terminal, or another job has it
	}
	// Whoever is not in the foreground is stopped when it changes that, or
	// when it writes and the user has asked for that.
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

// takeBack makes this process the one that the terminal's keys reach.
func (t *terminal) takeBack() {
	if t != nil {
		t.lend(unix.Getpgrp()) // fails where the terminal is gone
	}
}
