package shell

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"resumed/internal/lazy"
	"resumed/internal/peer"
	"resumed/internal/procfs"
)

// gate knows which process may read the screen and type: the one that listens on the daemon's socket. The agent may
// be turned against its user by a text that it reads, so nothing that it starts is taken for the daemon.
type gate struct {
	daemons func() []net.Conn // new connections to the sockets on which a daemon may listen

	mu      sync.Mutex // guards what follows
	daemon  *peer.Held // the last process that was found to be one; while that runs, it need not listen: it may be about to stop
	refused string     // the first process that was refused, and why, for people
	more    int        // how often one was refused after that
}

// check returns why a process is not the daemon.
func (g *gate) check(caller *peer.Held) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if caller.Is(g.daemon) {
		return nil
	}
	err := g.find(caller)
	switch {
	case err == nil:
	case g.refused != "":
		g.more++
	case caller == nil:
		g.refused = err.Error()
	default:
		g.refused = fmt.Sprintf("process %d (%s): %s", caller.PID, filepath.Base(procfs.Proc.Executable(caller.PID)), err)
	}
	return err
}

// find stores the process if it is the daemon. The caller holds mu.
func (g *gate) find(caller *peer.Held) error {
	if caller == nil {
		return errors.New("the process that asks cannot be seen from here")
	}
	heard := false
	for _, conn := range g.daemons() {
		listens, err := peer.Hold(conn.(*net.UnixConn))
		_ = conn.Close()
		heard = heard || err == nil
		if !caller.Is(listens) {
			listens.Close()
			continue
		}
		if err := stranger(caller.PID); err != nil {
			listens.Close()
			return err
		}
		if !caller.Is(listens) { // what was read is of another process
			listens.Close()
			break
		}
		g.daemon.Close()
		g.daemon = listens
		return nil
	}
	if !heard {
		return errors.New("no daemon listens on its socket")
	}
	return errors.New("it is not the process that listens on the daemon's socket")
}

// stranger returns why a process that listens on the daemon's socket is not the daemon of the person who sits here.
func stranger(pid int) error {
	below, err := belowUs(pid)
	if err != nil {
		return err
	}
	if below {
		return errors.New("it listens on the daemon's socket, but was started in this terminal: start the daemon elsewhere")
	}
	apart, err := procfs.Proc.Apart(pid)
	if err != nil {
		return err
	}
	if !isService(procfs.Proc, pid) {
		apart = append(apart, procfs.Proc.Tighter(pid, os.Getpid())...)
	}
	if len(apart) > 0 {
		return fmt.Errorf("it listens on the daemon's socket, but is restricted: %s", strings.Join(apart, ", "))
	}
	return nil
}

// belowUs reports whether this process started another one, directly or not. What lost its parent is below the first process
// in the terminal.
func belowUs(pid int) (bool, error) {
	for pid > 1 {
		if pid == os.Getpid() {
			return true, nil
		}
		stat, err := procfs.Proc.Stat(pid)
		if err != nil {
			return false, fmt.Errorf("look who started it: %w", err)
		}
		pid = stat.Parent
	}
	return false, nil
}

// service matches the daemon's own unit, whose settings restrict it.
var service = lazy.Regexp(`/resumed(?:@[^/\n]*)?\.service\n`)

// isService reports whether a service manager started the process as the daemon: it is the first of its unit.
func isService(proc procfs.FS, pid int) bool {
	stat, err := proc.Stat(pid)
	if err != nil {
		return false
	}
	unit, _ := os.ReadFile(proc.Path(pid, "cgroup"))
	above, err := os.ReadFile(proc.Path(stat.Parent, "cgroup"))
	return err == nil && service().Match(unit) && !service().Match(above)
}

// report says what was refused; "": nothing.
func (g *gate) report() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.refused == "":
		return ""
	case g.more == 0:
		return "a process wanted to read this terminal or type into it, and was refused: " + g.refused
	default:
		return fmt.Sprintf("processes wanted to read this terminal or type into it %d times, and were refused; the first was %s", g.more+1, g.refused)
	}
}
