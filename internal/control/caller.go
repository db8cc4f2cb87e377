package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"resumed/internal/lazy"
	"resumed/internal/peer"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// caller is a connection and the process that made it. The start time distinguishes that from a
// later process of the same pid.
type caller struct {
	net.Conn
	process resume.Process
}

// callerOf is the context key of the process that sent a request.
type callerOf struct{}

func newCaller(conn *net.UnixConn) caller {
	pid, _ := peer.PID(conn) // not known: it is refused like an agent
	stat, _ := procfs.Proc.Stat(pid)
	return caller{conn, resume.Process{PID: pid, Start: stat.Start}}
}

func withCaller(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, callerOf{}, conn.(caller).process)
}

// onlyPerson returns an error if the caller may not give that order: it is an agent that the
// daemon runs, or it cannot be known that it is not.
func onlyPerson(r *http.Request, order string) error {
	process, _ := r.Context().Value(callerOf{}).(resume.Process)
	switch is, err := ofARun(procfs.Proc, process); {
	case err != nil:
		return fmt.Errorf("only a person can decide %s, and it cannot be seen which process asks: %w", order, err)
	case is:
		return fmt.Errorf("a resumed agent cannot decide %s: run this in a terminal of your own", order)
	}
	return nil
}

var errGone = errors.New("it has ended, or it is not of this machine")

// ofARun reports whether a process belongs to a command that the daemon started: the process or
// one of its ancestors has the mark of such a command, is a child of the daemon, or is in the
// unit of one. A process can remove the mark from its own environment, but not from those of its
// parents and of the leaders of its session and group. One that leaves all of these is not found.
func ofARun(proc procfs.FS, process resume.Process) (bool, error) {
	stat, err := proc.Stat(process.PID)
	if err != nil || stat.Start != process.Start {
		return false, errors.Join(errGone, err)
	}
	if _, err := proc.Environ(process.PID); err != nil {
		return false, err
	}
	for pid := process.PID; err == nil && pid > 0; stat, err = proc.Stat(pid) {
		for _, of := range []int{pid, stat.Session, stat.Group} {
			if proc.Variable(of, resume.MarkVariable) != "" {
				return true, nil
			}
		}
		if inUnit(proc, pid) || stat.Parent == os.Getpid() {
			return true, nil
		}
		pid = stat.Parent
	}
	return false, nil
}

// units matches the units of the daemon and of the commands that it runs.
var units = lazy.Regexp(`/resumed(-[^/\n]*)?\.service[/\n]`)

// inUnit reports whether the process is in such a unit.
func inUnit(proc procfs.FS, pid int) bool {
	groups, err := os.ReadFile(proc.Path(pid, "cgroup"))
	return err == nil && units().Match(groups)
}
