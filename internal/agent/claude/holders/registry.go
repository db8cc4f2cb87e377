package holders

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/agent/claude/transcript"
	"resumed/internal/resume"
)

// entry is one file of the registry, sessions/PID.json.
type entry struct {
	PID        int    `json:"pid"`
	SessionID  string `json:"sessionId"`
	ProcStart  string `json:"procStart"`
	StartedAt  int64  `json:"startedAt"` // in milliseconds
	Entrypoint string `json:"entrypoint"`
	Tmux       string `json:"tmux"`
	Status     string `json:"status"` // busy | idle | waiting
	WaitingFor string `json:"waitingFor"`
	Domain     string `json:"pidDomain"` // the PID namespace: linux:MACHINE:NAMESPACE, since 2.1.2xx
	UpdatedAt  int64  `json:"updatedAt"` // in milliseconds

	dir       string // of the registry
	number    int    // the registered pid, in its own PID namespace
	elsewhere bool   // on another machine or in a container, so the process is not visible
}

// registry is the directory in which the processes of a home register their sessions.
type registry string

func registryOf(root string) registry { return registry(filepath.Join(root, "sessions")) }

// listing is the content of a registry, or why it cannot be read.
type listing struct {
	entries []entry
	by      map[string][]entry // the same, by session
	err     error
}

// slack is how much older than the session's last prompt the entry of its owner may be.
const slack = time.Minute

// changed returns when the process last wrote its entry.
func (e entry) changed() time.Time { return time.UnixMilli(max(e.UpdatedAt, e.StartedAt)) }

// fresh reports whether the entry may belong to the process that took the session's last prompt.
// Claude Code writes its entry only at the beginning and the end of a turn: an old entry does
// not mean that the process is dead.
func (e entry) fresh(prompted time.Time) bool {
	return e.UpdatedAt == 0 || !e.changed().Before(prompted.Add(-slack))
}

// ownerBy returns the owner of an entry.
func (h *Holders) ownerBy(e entry) *resume.Owner {
	o := &resume.Owner{PID: e.PID, Kind: cmp.Or(transcript.KindBy(e.Entrypoint), resume.Interactive), Tmux: e.Tmux}
	if o.Tmux == "" {
		o.Tmux = h.of.Processes.Variable(e.PID, "TMUX_PANE")
	}
	return o
}

// living returns the entries whose process is alive or not visible. A killed process leaves its
// file behind, and its pid may be reused.
func (h *Holders) living(in registry) ([]entry, error) {
	dir := string(in)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // versions before 2.1 have no registry
	}
	if err != nil {
		return nil, fmt.Errorf("read session registry: %w", err)
	}
	var all []entry
	for _, file := range files {
		name, isJSON := strings.CutSuffix(file.Name(), ".json")
		pid, err := strconv.Atoi(name)
		if !isJSON || err != nil || pid <= 0 {
			continue
		}
		if e, ok := h.entry(dir, pid); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// Killed reports whether the process left its entry behind: Claude Code removes it on /exit,
// on Ctrl-C and when its terminal is closed.
func (h *Holders) Killed(s resume.Session, owner resume.Owner) bool {
	for _, root := range h.of.Homes.Roots {
		var e entry
		if agent.ReadJSON(filepath.Join(root, "sessions", strconv.Itoa(owner.PID)+".json"), &e) && e.SessionID == s.Key.ID {
			return true
		}
	}
	return false
}

// entry returns the entry of a live process. A half-written file counts as none: the process is
// still found in /proc.
func (h *Holders) entry(dir string, number int) (entry, bool) {
	e := entry{dir: dir, number: number}
	if !agent.ReadJSON(filepath.Join(dir, strconv.Itoa(number)+".json"), &e) || e.PID != number {
		return entry{}, false
	}
	foreign := h.foreign(e.Domain)
	if !foreign && h.lives(number, e.ProcStart) {
		return e, true
	}
	if foreign || e.Domain == "" {
		if pid := h.outer(e); pid > 0 {
			e.PID = pid
			return e, true
		}
		e.elsewhere = foreign
	}
	return e, foreign
}

// outer returns the pid, in our namespace, of a process that registered its pid in another
// namespace; 0: not found.
func (h *Holders) outer(e entry) int {
	pids, err := h.of.Processes.PIDs()
	if err != nil || e.ProcStart == "" {
		return 0
	}
	for _, pid := range pids {
		if pid != e.number && h.lives(pid, e.ProcStart) && h.of.Processes.Inner(pid) == e.number {
			return pid
		}
	}
	return 0
}

// domain is the scope in which pids are comparable: linux:MACHINE:NAMESPACE.
type domain struct{ machine, namespace string }

// domainOf parses the domain of an entry. Without one, the entry is assumed to be in our domain.
func domainOf(text string) (domain, bool) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 3 || parts[0] != "linux" {
		return domain{}, false
	}
	return domain{parts[1], parts[2]}, true
}

// thisMachine returns the machine id of this system.
func thisMachine() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// foreign reports whether a domain is not ours. Systems without a machine id, such as some
// containers, leave it empty in their entries.
func (h *Holders) foreign(text string) bool {
	d, told := domainOf(text)
	switch {
	case !told:
		return false
	case runtime.GOOS != "linux", d.machine != "" && d.machine != thisMachine():
		return true
	}
	ours, err := os.Readlink(h.of.Processes.Path(os.Getpid(), "ns", "pid"))
	return err == nil && d.namespace != "" && d.namespace != ours
}
