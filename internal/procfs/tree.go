package procfs

import (
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
	var sockets []string
	for _, file := range f.open(pid) {
		if inode, is := strings.CutPrefix(file.Name, "socket:["); is {
			sockets = append(sockets, strings.TrimSuffix(inode, "]"))
		}
	}
	return len(sockets) > 0 && slices.ContainsFunc([]string{"tcp", "tcp6", "udp", "udp6"}, func(kind string) bool {
		table, _ := read(f.Path(pid, "net", kind))
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line) // number, local address, remote address, state, …, inode
			if len(fields) > 9 && !strings.HasSuffix(fields[2], ":0000") && slices.Contains(sockets, fields[9]) {
				return true
			}
		}
		return false
	})
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
