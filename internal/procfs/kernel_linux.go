package procfs

import "golang.org/x/sys/unix"

func statOf(pid int) (Stat, error) { return statByPieces(pid) }

func environOf(pid int) ([]string, error) { return of(pid).Environ() }

// Terminal returns the number of the terminal of that path, as in Stat.TTY: eight bits of the
// minor number, the major one, the rest of the minor.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	major, minor := uint64(unix.Major(info.Rdev)), uint64(unix.Minor(info.Rdev))
	return minor&0xff | major<<8 | (minor&^0xff)<<12, err
}
