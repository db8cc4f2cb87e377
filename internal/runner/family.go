package runner

import (
	"cmp"
	"os"
	"slices"
	"syscall"

	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// processOf identifies the process, even if its pid is used again later.
func processOf(s procfs.Stat) resume.Process { return resume.Process{PID: s.PID, Start: s.Start} }

// StartTime returns when the process started, in the system's own unit. Together with the
// pid it identifies one process, even if the pid is used again later.
func StartTime(pid int) (uint64, error) {
	s, err := procfs.Proc.Stat(pid)
	return s.Start, err
}

// CanIdentify reports whether the processes of an earlier daemon can be recognised.
func CanIdentify() bool { return procfs.Proc.Readable() }

func alive(process resume.Process) bool {
	if !CanIdentify() {
		return answers(process.PID)
	}
	s, err := procfs.Proc.Stat(process.PID)
	return err == nil && processOf(s) == process && s.Living()
}

// Find returns the living process of this user that has the mark in its environment. Child
// processes inherit the mark, so of several it is the oldest, and of those that started
// together the leader of its session.
func Find(mark string) (*Process, bool) {
	with := marked(mark)
	if len(with) == 0 {
		return nil, false
	}
	p, ok := Adopt(processOf(slices.MinFunc(with, byStart)))
	if ok {
		p.cmd.Mark = mark
	}
	return p, ok
}

func byStart(a, b procfs.Stat) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), follows(a)-follows(b))
}

// follows is 0 for the leader of a session and 1 for any other process.
func follows(s procfs.Stat) int {
	if s.PID == s.Session {
		return 0
	}
	return 1
}

func marked(mark string) []procfs.Stat {
	return slices.DeleteFunc(processes(), func(s procfs.Stat) bool { return !carries(s.PID, mark) })
}

// processes leaves out the daemon itself: one that a resumed command started has the mark of that command.
func processes() []procfs.Stat {
	var all []procfs.Stat
	for s := range procfs.Proc.Stats() {
		if s.PID != os.Getpid() && procfs.Proc.Own(s.PID) {
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
	members []procfs.Stat
}

func (p *Process) family() family {
	if !CanIdentify() { // a process that left the group is not found here
		return groupOf(p.PID)
	}
	all := processes() // before the check below: a process that gets the pid later is not in the list
	ours := p.PID > 0  // until the process of a unit is known, there is only the mark
	if s, err := procfs.Proc.Stat(p.PID); err == nil && s.Start != p.Start {
		ours = false // the pid was used again, so the group had ended
	}
	var f family
	for _, s := range all {
		if ours && s.Group == p.PID {
			f.group = p.PID
		}
		if ours && (s.Group == p.PID || s.Session == p.PID) || carries(s.PID, p.cmd.Mark) {
			f.members = append(f.members, s)
		}
	}
	return f
}

func groupOf(pid int) family {
	if pid <= 0 || syscall.Kill(-pid, 0) != nil {
		return family{}
	}
	return family{group: pid, members: []procfs.Stat{{PID: pid}}}
}

func (f family) signal(sig syscall.Signal, told map[resume.Process]bool) {
	// The whole group in one call, so that no process escapes by a fork.
	atOnce := f.group != 0 && len(told) == 0
	if atOnce {
		_ = syscall.Kill(-f.group, sig)
	}
	for _, s := range f.members {
		if !told[processOf(s)] && !(atOnce && s.Group == f.group) {
			signalOne(processOf(s), sig)
		}
		told[processOf(s)] = true
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
