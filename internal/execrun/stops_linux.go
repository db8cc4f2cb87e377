package execrun

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// followStops makes Ctrl-Z work as a shell expects: when the command is stopped, this process
// stops too, and when it continues, so does the command. It returns when the command has ended.
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
		stopSelf()
		if t.ours() { // the shell has continued this process in the foreground
			t.lend(pid)
		}
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// stopSelf stops this process as Ctrl-Z would, and returns when it continues. The stop comes a
// moment after the signal, and never comes if there is no shell that could continue it: the
// wait covers both.
func stopSelf() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-goesOn:
	case <-time.After(time.Second):
	}
}

// waitForStop reports whether the child was stopped; false: it has ended. It is not reaped.
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
