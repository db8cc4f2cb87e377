package procfs

import (
	"strings"

	"golang.org/x/sys/unix"
)

func statOf(pid int) (Stat, error) { return statByPieces(pid) }

// environOf uses a system call, because the library does not support this.
func environOf(pid int) ([]string, error) {
	text, err := unix.SysctlRaw("kern.proc.env", pid)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), nil
}

// Terminal returns a number for the terminal of that path that equals no Stat.TTY: it is not
// known here.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	return info.Rdev | 1<<63, err
}
