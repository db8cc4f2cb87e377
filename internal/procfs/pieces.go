//go:build !darwin

package procfs

import (
	"errors"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// statByPieces returns what the library tells of a process. Of its terminal it tells
// nothing.
func statByPieces(pid int) (Stat, error) {
	p := of(pid)
	parent, err := p.Ppid()
	began, beganErr := p.CreateTime()
	states, stateErr := p.Status()
	if err := errors.Join(err, beganErr, stateErr); err != nil {
		return Stat{}, err
	}
	group, _ := syscall.Getpgid(pid) // of another user's it may not be told
	s := Stat{State: 'S', Parent: int(parent), Group: group, Start: uint64(began)}
	switch states[0] {
	case process.Zombie:
		s.State = 'Z'
	case process.Stop:
		s.State = 'T'
	}
	return s, nil
}
