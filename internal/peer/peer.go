// Package peer finds the user and the process at the other end of a socket.
package peer

import (
	"fmt"
	"net"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// UID returns the user at the other end of a connection, from the kernel: after a dial, that is
// the listener.
func UID(conn *net.UnixConn) (int, error) { return ask(conn, userOf) }

// Process is the process that made a connection. It is held: its number is not given to another process unnoticed.
type Process struct {
	resume.Process
	UID int

	held *Held // nil: it is not held
}

// Of returns the process that made the connection, to be released. Its PID is 0 if it has ended, or cannot be seen from
// here.
func Of(conn *net.UnixConn) (p Process, err error) {
	if p.UID, err = UID(conn); err != nil {
		return p, err
	}
	if held, err := Hold(conn); err == nil {
		p = At(held.PID, p.UID)
		p.held = held
	}
	return p, nil
}

// At is the process of that number now, which is not held.
func At(pid, uid int) Process {
	stat, _ := procfs.Proc.Stat(pid)
	return Process{Process: resume.Process{PID: pid, Start: stat.Start}, UID: uid}
}

// Alive reports whether the process still lives: what was read about its number until now was about it.
func (p Process) Alive() bool {
	if p.held != nil && p.held.file != nil {
		return p.held.Runs()
	}
	stat, err := procfs.Proc.Stat(p.PID)
	return err == nil && stat.Start == p.Start && stat.Living()
}

// Release lets the process go.
func (p Process) Release() { p.held.Close() }

func ask(conn *net.UnixConn, question func(fd int) (int, error)) (number int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	var answer error
	if err := raw.Control(func(fd uintptr) { number, answer = question(int(fd)) }); err != nil {
		return 0, fmt.Errorf("reach socket: %w", err)
	}
	if answer != nil {
		return 0, fmt.Errorf("ask for the peer's credentials: %w", answer)
	}
	return number, nil
}
