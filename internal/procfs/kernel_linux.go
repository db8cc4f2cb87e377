package procfs

func statOf(pid int) (Stat, error) { return statByPieces(pid) }

func environOf(pid int) ([]string, error) { return of(pid).Environ() }

// Terminal returns the number of the terminal of that path, as in Stat.TTY: eight bits of the
// minor number, the major one, the rest of the minor.
func Terminal(path string) (uint64, error) {
	info, err := device(path)
	number := info.Rdev
	major := (number>>8)&0xfff | (number>>32)&^uint64(0xfff)
	minor := number&0xff | (number>>12)&^uint64(0xff)
	return minor&0xff | major<<8 | (minor&^uint64(0xff))<<12, err
}
