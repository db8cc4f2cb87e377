package runner

import (
	"cmp"
	"os"
	"slices"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

type stat struct {
	procfs.Stat
	pid int
}

func readStat(pid int) (stat, error) {
	s, err := procfs.Proc.Stat(pid)
	return stat{s, pid}, err
}

// process identifies the process, even if its pid is used again later.
func (s stat) process() resume.Process { return resume.Process{PID: s.pid, Start: s.Start} }

// StartTime returns when the process started, in the system's own unit. Together with the
// pid it identifies one process, even if the pid is used again later.
func StartTime(pid int) (uint64, error) {
	s, err := readStat(pid)
	return s.Start, err
}

// Sees reports whether the processes of an earlier daemon can be recognised.
func Sees() bool { return procfs.Proc.Tells() }

func alive(process resume.Process) bool {
	if !Sees() {
		return answers(process.PID)
	}
	s, err := readStat(process.PID)
	return err == nil && s.process() == process && s.Living()
}

// Find returns the living process of this user that has the mark in its environment. Child
// processes inherit the mark, so of several it is the oldest, and of those that started
// together the leader of its session.
func Find(mark string) (*Process, bool) {
	with := marked(mark)
	if len(with) == 0 {
		return nil, false
	}
	found := slices.MinFunc(with, func(a, b stat) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), follows(a)-follows(b))
	})
	p, ok := Adopt(found.process())
	if ok {
		p.cmd.Mark = mark
	}
	return p, ok
}

// follows is 0 for the leader of a session and 1 for any other process.
func follows(s stat) int {
	if s.pid == s.Session {
		return 0
	}
	return 1
}

func marked(mark string) []stat {
	return slices.DeleteFunc(processes(), func(s stat) bool { return !carries(s.pid, mark) })
}

// processes leaves out the daemon itself: one that a resumed command started has the mark of that command.
func processes() []stat {
	pids, _ := procfs.Proc.PIDs() // if the kernel lists none, there are none to find
	var all []stat
	for _, pid := range pids {
		if pid == os.Getpid() || !procfs.Proc.Own(pid) {
			continue
		}
		if s, err := readStat(pid); err == nil && s.Living() {
			all = append(all, s)
		}
	}
	return all
}

func carries(pid int, mark string) bool {
	env, _ := procfs.Proc.Environ(pid) // empty for a process that has ended
	return mark != "" && slices.Contains(env, resume.MarkVariable+"="+mark)
}

// family is what is left of a command: the processes in its group or session, and those that
// left both and still have its mark.
type family struct {
	group   int // 0: no process is left in it
	members []stat
}

func (p *Process) family() family {
	if !Sees() { // a process that left the group is not found here
		if p.PID <= 0 || syscall.Kill(-p.PID, 0) != nil {
			return family{}
		}
		return family{group: p.PID, members: []stat{{pid: p.PID}}}
	}
	all := processes()
	ours := p.PID > 0 // until the process of a unit is known, there is only the mark
	if s, err := readStat(p.PID); err == nil && s.Start != p.Start {
		ours = false // the pid was used again, so the group had ended
	}
	var f family
	for _, s := range all {
		if ours && s.Group == p.PID {
			f.group = p.PID
		}
		if ours && (s.Group == p.PID || s.Session == p.PID) || carries(s.pid, p.cmd.Mark) {
			f.members = append(f.members, s)
		}
	}
	return f
}

func (f family) signal(sig syscall.Signal, told map[resume.Process]bool) {
	// The whole group in one call, so that no process escapes by a fork.
	atOnce := f.group != 0 && len(told) == 0
	if atOnce {
		_ = syscall.Kill(-f.group, sig)
	}
	for _, s := range f.members {
		if !told[s.process()] && !(atOnce && s.Group == f.group) {
			signalOne(s.process(), sig)
		}
		told[s.process()] = true
	}
}

// signalOne opens the process before it compares the start time, so that the signal cannot
// reach a later process of the same pid.
func signalOne(process resume.Process, sig syscall.Signal) {
	handle, err := os.FindProcess(process.PID)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if start, err := StartTime(process.PID); err == nil && start == process.Start {
		_ = handle.Signal(sig)
	}
}
