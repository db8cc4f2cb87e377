package runner

import (
	"fmt"
	"strings"

	"resumed/internal/resume"
)

// shellLimits are the resource limits that a shell can set: the number of each, the letters that shells
// have for it, and the unit in bytes.
var shellLimits = []struct {
	resource int
	letters  string
	unit     uint64
}{
	{0, "t", 1}, {2, "d", 1024}, {3, "s", 1024}, {6, "up", 1}, {7, "n", 1}, {8, "l", 1024}, {9, "v", 1024},
}

// unlimited is the value of a resource without a limit.
const unlimited = ^uint64(0)

// script returns the shell commands that set the limits. A limit that may not be raised stays: the
// command is then more restricted than its session was.
func script(l resume.ProcessLimits) string {
	var b strings.Builder
	if l.Umask != "" {
		fmt.Fprintf(&b, "umask %s\n", l.Umask)
	}
	for _, known := range shellLimits {
		if known.resource >= len(l.Resources) {
			break
		}
		limit := l.Resources[known.resource]
		for _, kind := range []struct {
			option string
			value  uint64
		}{{"-S", min(limit.Soft, limit.Hard)}, {"-H", limit.Hard}, {"-S", limit.Soft}} { // the soft limit first: it must not be above the hard one
			var tries []string
			for _, letter := range known.letters {
				tries = append(tries, fmt.Sprintf("ulimit %s -%c %s 2>/dev/null", kind.option, letter, shellValue(kind.value, known.unit)))
			}
			fmt.Fprintln(&b, strings.Join(append(tries, ":"), " || "))
		}
	}
	if l.Nice > 0 {
		fmt.Fprintf(&b, "n=$(nice 2>/dev/null) && [ \"$n\" -lt %d ] && set -- nice -n $((%d - n)) \"$@\"\n", l.Nice, l.Nice)
	}
	return b.String()
}

func shellValue(value, unit uint64) string {
	if value == unlimited {
		return "unlimited"
	}
	return fmt.Sprint(value / unit)
}
