package attempt

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// followStops does for Ctrl-Z what a shell expects: when the command is
// stopped this process stops too, and when it goes on so does the command. It
// returns when the command has ended.
func (t *terminal) followStops(pid int) {
	if t == nil {
		return
	}
	for {
		stopped, err := waitForStop(pid)
		if err != nil || !stopped {
			return
		}
		t.takeBack()
		_ = syscall.Kill(0, syscall.SIGTSTP)
		// Here the shell has let us go on, in front or in the background.
		if t.ours() {
			t.lend(pid)
		}
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// waitForStop reports whether the child was stopped, or else has ended. Its
// end is left for others to see.
func waitForStop(pid int) (bool, error) {
	const stopped = 5 // CLD_STOPPED
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || info.Code != stopped {
			return false, err
		}
		return true, unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOHANG, nil)
	}
}
