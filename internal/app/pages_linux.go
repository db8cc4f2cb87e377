package app

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// leavePages gives back what the program itself takes of memory: of what it went
// through to start, most is not run again, and what is comes back from its file by
// itself.
func leavePages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range asInFile(string(smaps), program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED) // refused: it stays
	}
}

// mapping is a part of the program's memory.
type mapping struct {
	start, end uintptr
	writable   bool
	path       string // of the file that it shows
}

// asInFile returns the mappings of a file in which no byte was changed, and none can be.
func asInFile(smaps, path string) (all []mapping) {
	var m mapping
	for line := range strings.Lines(smaps) {
		name, value, figure := strings.Cut(line, ":  ")
		switch {
		case !figure:
			m = mappingOf(strings.TrimSuffix(line, "\n"))
		case name == "Anonymous" && strings.TrimSpace(value) == "0 kB" && m.path == path && !m.writable:
			all = append(all, m)
		}
	}
	return all
}

// mappingOf reads the line that a mapping begins with. What is none has no path.
func mappingOf(line string) mapping {
	fields := strings.SplitN(line, " ", 6)
	from, to, _ := strings.Cut(fields[0], "-")
	start, _ := strconv.ParseUint(from, 16, 64)
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil || start >= end || len(fields) < 6 {
		return mapping{}
	}
	return mapping{uintptr(start), uintptr(end), strings.Contains(fields[1], "w"), strings.TrimLeft(fields[5], " ")}
}
