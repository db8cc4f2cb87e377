package procfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// statOf returns the Stat of a process with one call.
func statOf(pid int) (Stat, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Stat{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return Stat{}, syscall.ESRCH
	}
	session, _ := unix.Getsid(pid) // hidden for another user's process
	s := Stat{
		PID: pid, State: 'S', Parent: int(k.Eproc.Ppid), Group: int(k.Eproc.Pgid), Session: session, Foreground: int(k.Eproc.Tpgid),
		Start: uint64(k.Proc.P_starttime.Sec*1000 + int64(k.Proc.P_starttime.Usec)/1000),
	}
	const stopped, zombie = 4, 5 // SSTOP and SZOMB
	switch k.Proc.P_stat {
	case stopped:
		s.State = 'T'
	case zombie:
		s.State = 'Z'
	}
	if k.Eproc.Tdev != -1 { // NODEV
		s.TTY = uint64(uint32(k.Eproc.Tdev))
	}
	return s, nil
}

// Terminal returns the number of the terminal of that path, as in Stat.TTY.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	return uint64(uint32(info.Rdev)), err
}
