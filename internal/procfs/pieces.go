//go:build !darwin

package procfs

import (
	"errors"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// statByPieces asks the library several times. The library does not know the terminal.
func statByPieces(pid int) (Stat, error) {
	p := of(pid)
	parent, err := p.Ppid()
	began, beganErr := p.CreateTime()
	states, stateErr := p.Status()
	if err := errors.Join(err, beganErr, stateErr); err != nil {
		return Stat{}, err
	}
	group, _ := syscall.Getpgid(pid) // may be hidden for another user's process
	s := Stat{PID: pid, State: 'S', Parent: int(parent), Group: group, Start: uint64(began)}
	switch states[0] {
	case process.Zombie:
		s.State = 'Z'
	case process.Stop:
		s.State = 'T'
	}
	return s, nil
}
