package procfs

import (
	"errors"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/unix"
)

// statOf asks the library several times. The library does not know the terminal.
func statOf(pid int) (Stat, error) {
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

// Terminal returns the number of the terminal of that path, as in Stat.TTY: eight bits of the
// minor number, the major one, the rest of the minor.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	major, minor := uint64(unix.Major(info.Rdev)), uint64(unix.Minor(info.Rdev))
	return minor&0xff | major<<8 | (minor&^0xff)<<12, err
}
