package procfs

import (
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tree is a process and everything that it started, directly or not.
type Tree struct {
	CPU   time.Duration         // used until now, also by processes that have ended
	Began map[int]time.Duration // how long ago each of them began, by pid
}

// TreeOf returns the tree of a process, or false if that is not known. It reads every process.
func (f FS) TreeOf(root int) (Tree, bool) {
	up, known := f.uptime()
	pids, err := f.PIDs()
	if f.asks() || !known || err != nil {
		return Tree{}, false
	}
	all := make(map[int]Stat, len(pids))
	children := make(map[int][]int)
	for _, pid := range pids {
		if stat, err := f.Stat(pid); err == nil { // otherwise it has ended meanwhile
			all[pid] = stat
			children[stat.Parent] = append(children[stat.Parent], pid)
		}
	}
	tree := Tree{Began: make(map[int]time.Duration)}
	for next := []int{root}; len(next) > 0; next = next[1:] {
		pid := next[0]
		stat, lives := all[pid]
		if _, twice := tree.Began[pid]; !lives || twice {
			continue
		}
		tree.CPU += time.Duration(stat.CPU) * tick
		tree.Began[pid] = up - time.Duration(stat.Start)*tick
		next = append(next, children[pid]...)
	}
	return tree, len(tree.Began) > 0
}

// Connected reports whether a process has a connection to another machine or program, over the network.
func (f FS) Connected(pid int) bool {
	for socket := range f.sockets(pid, "tcp", "tcp6", "udp", "udp6") {
		if !strings.HasSuffix(socket[2], ":0000") {
			return true
		}
	}
	return false
}

// Listening returns the TCP ports on which a process listens.
func (f FS) Listening(pid int) (ports []string) {
	const listens = "0A"
	for socket := range f.sockets(pid, "tcp", "tcp6") {
		_, hex, _ := strings.Cut(socket[1], ":")
		if port, err := strconv.ParseUint(hex, 16, 16); err == nil && socket[3] == listens {
			ports = append(ports, strconv.FormatUint(port, 10))
		}
	}
	return ports
}

// sockets yields the lines of the kernel's tables of these kinds that are about the process: number, local address,
// remote address, state, …; the tenth field is the socket.
func (f FS) sockets(pid int, kinds ...string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		var own []string
		for _, file := range f.open(pid) {
			if inode, is := strings.CutPrefix(file.Name, "socket:["); is {
				own = append(own, strings.TrimSuffix(inode, "]"))
			}
		}
		for _, kind := range kinds {
			table, _ := read(f.Path(pid, "net", kind)) // without it there is none
			for line := range strings.Lines(string(table)) {
				if fields := strings.Fields(line); len(fields) > 9 && slices.Contains(own, fields[9]) && !yield(fields) {
					return
				}
			}
		}
	}
}

// BootedAt returns when the machine started; zero: not known.
func (f FS) BootedAt() time.Time {
	up, known := f.uptime()
	if !known {
		return time.Time{}
	}
	return time.Now().Round(0).Add(-up)
}

// uptime returns how long ago the machine started.
func (f FS) uptime() (time.Duration, bool) {
	text, err := read(filepath.Join(string(f), "uptime"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}
