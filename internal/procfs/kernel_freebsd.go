package procfs

import (
	"strings"

	"golang.org/x/sys/unix"
)

func statOf(pid int) (Stat, error) { return statByPieces(pid) }

// environOf asks the kernel: the library does not.
func environOf(pid int) ([]string, error) {
	text, err := unix.SysctlRaw("kern.proc.env", pid)
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), nil
}

// Terminal returns the number by which a Stat names the terminal of that path. No Stat
// does so here, and no terminal is that of a process.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	return info.Rdev | 1<<63, err
}
