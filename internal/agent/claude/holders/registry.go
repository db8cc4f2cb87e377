package holders

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/process"
	"resumed/internal/procfs"
	"resumed/internal/resume"
)

// entry is one file of the registry, sessions/PID.json.
type entry struct {
	PID        int    `json:"pid"`
	SessionID  string `json:"sessionId"`
	Cwd        string `json:"cwd"`
	ProcStart  string `json:"procStart"`
	StartedAt  int64  `json:"startedAt"` // in milliseconds
	Entrypoint string `json:"entrypoint"`
	Tmux       string `json:"tmux"`
	Status     string `json:"status"` // busy | idle | waiting
	WaitingFor string `json:"waitingFor"`
	Domain     string `json:"pidDomain"` // the PID namespace: linux:MACHINE:NAMESPACE, since 2.1.2xx
	UpdatedAt  int64  `json:"updatedAt"` // in milliseconds

	file      string
	number    int  // the registered pid, in its own PID namespace
	elsewhere bool // on another machine or in a container, so the process is not visible
}

// Began returns when the process was started.
func (e entry) Began() time.Time { return time.UnixMilli(e.StartedAt) }

// Process returns the process, or false if its entry has no start time.
func (e entry) Process() (resume.Process, bool) {
	start, err := strconv.ParseUint(e.ProcStart, 10, 64)
	return resume.Process{PID: e.PID, Start: start}, err == nil
}

// slack is how much older than the session's last prompt the entry of its owner may be.
const slack = time.Minute

// fresh reports whether the entry may belong to the process that took the session's last prompt.
// Claude Code writes its entry only at the beginning and the end of a turn: an old entry does
// not mean that the process is dead.
func (e entry) fresh(prompted time.Time) bool {
	changed := time.UnixMilli(max(e.UpdatedAt, e.StartedAt))
	return e.UpdatedAt == 0 || !changed.Before(prompted.Add(-slack))
}

func (h *Holders) ownerBy(e entry) *resume.Owner {
	o := &resume.Owner{PID: e.PID, Kind: cmp.Or(transcript.KindBy(e.Entrypoint), resume.Interactive), Tmux: e.Tmux, App: transcript.AppBy(e.Entrypoint)}
	if o.Tmux == "" {
		o.Tmux = h.of.Processes.Variable(e.PID, "TMUX_PANE")
	}
	return o
}

// living returns the entries of a home whose process is alive or not visible. A killed process
// leaves its file behind, and its pid may be reused.
func (h *Holders) living(root string) (all []entry, err error) {
	dir := filepath.Join(root, "sessions")
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // versions before 2.1 have no registry
	}
	if err != nil {
		return nil, fmt.Errorf("read session registry: %w", err)
	}
	for _, file := range files {
		if e, ok := h.entry(filepath.Join(dir, file.Name())); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// SessionOf returns the session that a live process has registered; "": none.
func (h *Holders) SessionOf(pid int) string {
	for _, root := range h.of.Homes.Roots {
		e, ok := h.entry(filepath.Join(root, "sessions", strconv.Itoa(pid)+".json"))
		if ok && !e.elsewhere && e.PID == pid {
			return e.SessionID
		}
	}
	return ""
}

// Killed relies on the entry: Claude Code removes its entry on /exit, on Ctrl-C and when its terminal is closed.
func (h *Holders) Killed(s resume.Session, owner resume.Owner) bool {
	_, left := h.entryOf(s, owner.PID)
	return left
}

// Registered returns the last status of the session's process, dead or alive; "": none.
func (h *Holders) Registered(s resume.Session) string {
	e, _ := h.entryOf(s, s.Origin.Process.PID)
	return e.Status
}

func (h *Holders) entryOf(s resume.Session, pid int) (e entry, found bool) {
	for _, root := range h.of.Homes.Roots {
		e = entry{}
		if agent.ReadJSON(filepath.Join(root, "sessions", strconv.Itoa(pid)+".json"), &e) && e.SessionID == s.Key.ID {
			return e, true
		}
	}
	return entry{}, false
}

// A half-written file counts as none: the process is still found in /proc.
func (h *Holders) entry(file string) (entry, bool) {
	name, isJSON := strings.CutSuffix(filepath.Base(file), ".json")
	number, err := strconv.Atoi(name)
	e := entry{file: file, number: number}
	if !isJSON || err != nil || number <= 0 || !agent.ReadJSON(file, &e) || e.PID != number {
		return entry{}, false
	}
	foreign := h.foreign(e)
	lives := !foreign && h.lives(number, e.ProcStart)
	if lives && (e.Domain != "" || h.isClaude(number)) {
		return e, true
	}
	if foreign || e.Domain == "" {
		if process := h.outer(e); process.PID > 0 {
			e.PID, e.ProcStart = process.PID, strconv.FormatUint(process.Start, 10)
			return e, true
		}
		foreign = foreign && !h.ended(e)
		e.elsewhere = foreign
	}
	// If a namespace shows our processes, its pid 1 registers the start of our pid 1, which never ends. So the
	// process must have the age of the entry, or a Claude Code of that age live in a namespace, in any directory.
	anywhere := e
	anywhere.Cwd = ""
	return e, foreign || lives && (number != 1 || h.beganWith(number, e) || h.outer(anywhere).PID > 0)
}

// beforeRestart reports whether the entry is of the process that the session had before the machine was
// restarted. A machine that is a container has another pid namespace after that.
func (e entry) beforeRestart(s resume.Session) bool {
	o := s.Origin
	return o != nil && o.Boot != "" && o.Boot != procfs.Boot() && o.Process.PID == e.number && strconv.FormatUint(o.Process.Start, 10) == e.ProcStart
}

// firstNamespace is the pid namespace that the kernel makes first: all processes of the machine are visible there.
const firstNamespace = "pid:[4026531836]"

// ended reports whether the process of another namespace of this machine is certainly gone.
func (h *Holders) ended(e entry) bool {
	machine, namespace, _ := e.domain()
	ours, _ := os.Readlink(h.of.Processes.Path(os.Getpid(), "ns", "pid"))
	pids, err := h.of.Processes.PIDs()
	if err != nil || ours != firstNamespace || machine == "" || machine != thisMachine() || !slices.Contains(pids, 1) {
		return false
	}
	return !slices.ContainsFunc(pids, func(pid int) bool {
		if pid == 1 || h.of.Processes.Inner(pid) != e.number {
			return false
		}
		theirs, err := os.Readlink(h.of.Processes.Path(pid, "ns", "pid"))
		return err != nil || theirs == namespace // of another user, or it
	})
}

// outer returns the process in our namespace that registered its pid in another one; zero: not found.
func (h *Holders) outer(e entry) resume.Process {
	pids, err := h.of.Processes.PIDs()
	if err != nil || e.ProcStart == "" {
		return resume.Process{}
	}
	for _, pid := range pids {
		if pid == e.number || h.of.Processes.Inner(pid) != e.number || !h.lives(pid, e.ProcStart) && !h.livesIn(pid, e) {
			continue
		}
		if stat, err := h.of.Processes.Stat(pid); err == nil {
			return resume.Process{PID: pid, Start: stat.Start}
		}
	}
	return resume.Process{}
}

// livesIn reports whether a process is a Claude Code in the namespace of an entry, or, if the entry names
// none, of its age in its directory. If that namespace shows the processes of ours, the registered start is that of
// another process.
func (h *Holders) livesIn(pid int, e entry) bool {
	machine, namespace, told := e.domain()
	theirs, err := os.Readlink(h.of.Processes.Path(pid, "ns", "pid"))
	there := err == nil && theirs == namespace && machine == thisMachine()
	return h.isClaude(pid) && (there || !told && (e.Cwd == "" || h.of.Processes.Cwd(pid) == e.Cwd) && h.beganWith(pid, e))
}

// beganWith reports whether a process started about when the entry says, or nothing says when: another
// container may have the same pid and the same directory.
func (h *Holders) beganWith(pid int, e entry) bool {
	age, known := h.of.Processes.Age(pid)
	return !known || e.StartedAt == 0 || (time.Since(e.Began())-age).Abs() < time.Minute
}

func (h *Holders) isClaude(pid int) bool {
	argv := h.of.Processes.Argv(pid)
	return len(argv) > 0 && process.Runs(argv, IsClaude)
}

// domain returns the machine and the namespace of the pid, or false: then it is assumed to be in ours.
func (e entry) domain() (machine, namespace string, told bool) {
	parts := strings.SplitN(e.Domain, ":", 3)
	if len(parts) < 3 || parts[0] != "linux" {
		return "", "", false
	}
	return parts[1], parts[2], true
}

func thisMachine() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// foreign reports whether the pid of an entry does not count here. Systems without a machine id,
// such as some containers, leave it empty in their entries.
func (h *Holders) foreign(e entry) bool {
	machine, namespace, told := e.domain()
	switch {
	case !told:
		return false
	case runtime.GOOS != "linux", machine != "" && machine != thisMachine():
		return true
	}
	ours, err := os.Readlink(h.of.Processes.Path(os.Getpid(), "ns", "pid"))
	return err == nil && namespace != "" && namespace != ours
}
