package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"resumed/internal/resume"
)

// ticksPerSecond is the unit of start times in /proc; it is 100 on every Linux
// that Go runs on.
const ticksPerSecond = 100

// stat is what /proc/PID/stat says of a process.
type stat struct {
	resume.Process
	state   byte
	group   int
	session int
}

func (s stat) living() bool { return s.state != 'Z' && s.state != 'X' && s.state != 'x' }

// readStat reads /proc/PID/stat. The name in it may hold anything, spaces and
// parentheses too, so what matters comes after the last parenthesis.
func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("read /proc/%d/stat: too short", pid)
	}
	s := stat{Process: resume.Process{PID: pid}, state: fields[0][0]}
	var errs [3]error
	s.group, errs[0] = strconv.Atoi(string(fields[2]))
	s.session, errs[1] = strconv.Atoi(string(fields[3]))
	s.Start, errs[2] = strconv.ParseUint(string(fields[19]), 10, 64)
	for _, err := range errs {
		if err != nil {
			return stat{}, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
	}
	return s, nil
}

// StartTime returns when the process started, in clock ticks since the system
// did. With the pid it names one process, whoever has the pid later.
func StartTime(pid int) (uint64, error) {
	s, err := readStat(pid)
	return s.Start, err
}

func alive(process resume.Process) bool {
	s, err := readStat(process.PID)
	return err == nil && s.Process == process && s.living()
}

// age returns how long ago a process started.
func age(process resume.Process) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	start := time.Duration(process.Start) * (time.Second / ticksPerSecond)
	return max(0, time.Duration(now.Nano())-start)
}

// Find returns the living process of this user that carries the mark in its
// environment. Of several it is the one that was started with it, not what
// that one started: the oldest, and of equals the one that leads its session.
func Find(mark string) (*Process, bool) {
	with := marked(mark)
	if len(with) == 0 {
		return nil, false
	}
	found := slices.MinFunc(with, func(a, b stat) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), follows(a)-follows(b))
	})
	p, ok := Adopt(found.Process)
	if ok {
		p.cmd.Mark = mark
	}
	return p, ok
}

// follows is 0 for the leader of a session and 1 for who follows it.
func follows(s stat) int {
	if s.PID == s.session {
		return 0
	}
	return 1
}

func marked(mark string) []stat {
	var with []stat
	for _, s := range processes() {
		if s.living() && carries(s.PID, mark) {
			with = append(with, s)
		}
	}
	return with
}

// processes returns those of this user, but never this one: a daemon that was
// itself started by a resumed command carries that command's mark.
func processes() []stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	uid := uint32(os.Geteuid())
	var all []stat
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		var info syscall.Stat_t
		if syscall.Stat(filepath.Join("/proc", entry.Name()), &info) != nil || info.Uid != uid {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all = append(all, s)
		}
	}
	return all
}

func carries(pid int, mark string) bool {
	if mark == "" {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	// The variable is not the first one, or there is nothing before it.
	entry := []byte("\x00" + resume.MarkVariable + "=" + mark + "\x00")
	return bytes.Contains(env, entry) || bytes.HasPrefix(env, entry[1:])
}

// family is what is left of a command: who is in its group or session, and who
// went away and still carries its mark.
type family struct {
	group   int // 0: nobody is left in it
	members []stat
}

func (f family) empty() bool { return len(f.members) == 0 }
func (f family) size() int   { return len(f.members) }

func (p *Process) family() family {
	all := processes()
	ours := true
	for _, s := range all {
		if s.PID == p.PID && s.Start != p.Start {
			ours = false // the pid has a new owner, so the group had ended
		}
	}
	var f family
	for _, s := range all {
		if !s.living() {
			continue
		}
		if ours && s.group == p.PID {
			f.group = p.PID
		}
		if ours && (s.group == p.PID || s.session == p.PID) || carries(s.PID, p.cmd.Mark) {
			f.members = append(f.members, s)
		}
	}
	return f
}

// signal sends sig to everyone who was not told yet.
func (f family) signal(sig syscall.Signal, told map[resume.Process]bool) {
	// The group at once: nobody in it can fork out of the way.
	atOnce := f.group != 0 && len(told) == 0
	if atOnce {
		_ = syscall.Kill(-f.group, sig)
	}
	for _, s := range f.members {
		if !told[s.Process] && !(atOnce && s.group == f.group) {
			signalOne(s.Process, sig)
		}
		told[s.Process] = true
	}
}

// signalOne holds on to the process before it looks whose pid it is, so that
// the signal cannot reach a later owner of the pid.
func signalOne(process resume.Process, sig syscall.Signal) {
	handle, err := os.FindProcess(process.PID)
	if err != nil {
		return
	}
	defer handle.Release()
	if start, err := StartTime(process.PID); err == nil && start == process.Start {
		_ = handle.Signal(sig)
	}
}

// sealDescriptors keeps what the daemon was itself started with, such as a
// socket from its service manager, out of the commands. What Go opens is kept
// out anyway. Kernels before 5.11 do not know the call.
func sealDescriptors() {
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
