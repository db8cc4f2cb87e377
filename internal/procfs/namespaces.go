package procfs

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// namespaces are those that change what a process sees: the kernel's name of each, and ours.
var namespaces = []struct{ file, word string }{
	{"mnt", "mounts"}, {"pid", "processes"}, {"user", "users"}, {"net", "network"},
}

// Apart returns what a process does not share with this one: mounts, processes, users, network, root
// directory, user id. It fails if that cannot be read. Systems without /proc do not have such
// namespaces.
func (f FS) Apart(pid int) ([]string, error) {
	if f.asks() {
		return nil, nil
	}
	var apart []string
	for _, ns := range namespaces {
		theirs, err := os.Readlink(f.Path(pid, "ns", ns.file))
		if err != nil {
			return nil, fmt.Errorf("read the namespaces of process %d: %w", pid, err)
		}
		ours, err := os.Readlink(f.Path(os.Getpid(), "ns", ns.file))
		if err != nil {
			return nil, fmt.Errorf("read our own namespaces: %w", err)
		}
		if theirs != ours {
			apart = append(apart, ns.word)
		}
	}
	theirs, err := os.Stat(f.Path(pid, "root") + "/")
	if err != nil {
		return nil, fmt.Errorf("read the root directory of process %d: %w", pid, err)
	}
	if ours, err := os.Stat("/"); err == nil && !os.SameFile(theirs, ours) {
		apart = append(apart, "root directory")
	}
	if user, err := user(f.Status(pid)); err != nil {
		return nil, fmt.Errorf("read whose process %d is: %w", pid, err)
	} else if user != os.Getuid() {
		apart = append(apart, "user id")
	}
	return apart, nil
}

// Tighter returns in which ways a process is restricted and another one is not.
func (f FS) Tighter(pid, than int) []string {
	if f.asks() {
		return nil
	}
	return tighter(f.Status(pid), f.Status(than))
}

// tighter compares the status of two processes. A Landlock sandbox is
// not shown, but for a normal user the kernel demands no_new_privs for it.
func tighter(theirs, ours map[string]string) []string {
	var all []string
	if len(theirs) == 0 || len(ours) == 0 {
		return nil // one of them has ended
	}
	if theirs["NoNewPrivs"] == "1" && ours["NoNewPrivs"] == "0" {
		all = append(all, "no_new_privs")
	}
	if theirs["Seccomp"] > ours["Seccomp"] || theirs["Seccomp"] == "2" && number(theirs["Seccomp_filters"], 10) > number(ours["Seccomp_filters"], 10) {
		all = append(all, "system call filter")
	}
	sets := []string{"CapBnd"}
	if who, err := user(ours); err == nil && who == 0 { // others have at most a few that a login gave them
		sets = append(sets, "CapEff")
	}
	for _, set := range sets {
		if number(ours[set], 16)&^number(theirs[set], 16) != 0 {
			return append(all, "fewer capabilities")
		}
	}
	return all
}

// Restrictions returns what restricts a process, for a later comparison by another one.
func (f FS) Restrictions(pid int) map[string]string {
	all, status := make(map[string]string), f.Status(pid)
	for _, name := range []string{"NoNewPrivs", "Seccomp", "Seccomp_filters", "CapEff", "CapBnd", "Uid"} {
		all[name] = status[name]
	}
	for _, ns := range namespaces {
		all[ns.word], _ = os.Readlink(f.Path(pid, "ns", ns.file))
	}
	return all
}

// Compare returns in which ways a process with these restrictions is more restricted than another one,
// and which namespaces it does not share with this one.
func (f FS) Compare(restrictions map[string]string, than int) []string {
	ours := f.Restrictions(os.Getpid())
	all := tighter(restrictions, f.Restrictions(than))
	for _, ns := range namespaces {
		if restrictions[ns.word] != ours[ns.word] {
			all = append(all, ns.word+" of its own")
		}
	}
	return all
}

func number(text string, base int) uint64 {
	n, _ := strconv.ParseUint(text, base, 64)
	return n
}

// Status returns the fields of the kernel's status file of a process, by name; nil: it cannot be read.
func (f FS) Status(pid int) map[string]string {
	text, err := read(f.Path(pid, "status"))
	if err != nil {
		return nil
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// user returns the effective user id of a process. The owner of its directory is not reliable:
// for a process that hides its memory it is root.
func user(status map[string]string) (int, error) {
	all := strings.Fields(status["Uid"])
	if len(all) < 2 {
		return 0, errors.New("its status does not tell")
	}
	return strconv.Atoi(all[1])
}

// Container returns the kind of container that a process is in, by its own information; empty:
// none, or the same as ours.
func (f FS) Container(pid int) string {
	kind := f.container(pid)
	if kind == f.container(os.Getpid()) {
		return ""
	}
	return kind
}

func (f FS) container(pid int) string {
	if kind := f.Variable(pid, "container"); kind != "" {
		return kind
	}
	for _, sign := range []struct{ file, kind string }{{".dockerenv", "docker"}, {"run/.containerenv", "podman"}} {
		if _, err := os.Lstat(f.Path(pid, "root", sign.file)); err == nil {
			return sign.kind
		}
	}
	return ""
}

// Inner returns the pid of a process in its own pid namespace, which may differ from the pid
// here; 0: not known.
func (f FS) Inner(pid int) int {
	status, _ := read(f.Path(pid, "status")) // empty if it has ended
	_, pids, _ := strings.Cut(string(status), "\nNSpid:")
	pids, _, _ = strings.Cut(pids, "\n")
	inner, _ := strconv.Atoi(pids[strings.LastIndexByte(pids, '\t')+1:]) // the kernel always writes numbers
	return inner
}

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

// Sleeps reports whether a process waits for a time to pass, as the command sleep does.
func (f FS) Sleeps(pid int) bool {
	function, _ := read(f.Path(pid, "wchan")) // without it that is not known
	return strings.Contains(string(function), "nanosleep")
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

func (f FS) uptime() (time.Duration, bool) {
	text, err := read(filepath.Join(string(f), "uptime"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}
