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
	Status     string `json:"status"`    // busy | idle | waiting
	Domain     string `json:"pidDomain"` // whose numbers of processes these are: linux:MACHINE:NAMESPACE, since 2.1.2xx
	UpdatedAt  int64  `json:"updatedAt"` // in milliseconds

	dir       string // of the registry
	number    int    // by which it is registered: its own, in its own world
	elsewhere bool   // it is of another machine or container, and its process is not to be seen
}

// registry is the directory in which the processes of a home say what they hold.
type registry string

func registryOf(root string) registry { return registry(filepath.Join(root, "sessions")) }

// listing is what such a directory tells, or why it does not.
type listing struct {
	entries []entry
	by      map[string][]entry // the same, by the session that each says to hold
	err     error
}

// slack is how much older than the session's last prompt an entry may be of the
// process that took it.
const slack = time.Minute

// changed returns when the process last said something of itself.
func (e entry) changed() time.Time { return time.UnixMilli(max(e.UpdatedAt, e.StartedAt)) }

// fresh reports whether the entry may be of the process that took the session's last prompt.
// Claude Code writes its entry when a turn begins and when it ends, and nothing in
// between: how long ago that was says nothing about whether it lives.
func (e entry) fresh(prompted time.Time) bool {
	return e.UpdatedAt == 0 || !e.changed().Before(prompted.Add(-slack))
}

// ownerBy returns the owner that an entry tells of.
func (h *Holders) ownerBy(e entry) *resume.Owner {
	o := &resume.Owner{PID: e.PID, Kind: cmp.Or(transcript.KindBy(e.Entrypoint), resume.Interactive), Tmux: e.Tmux}
	if o.Tmux == "" {
		o.Tmux = h.of.Processes.Variable(e.PID, "TMUX_PANE")
	}
	return o
}

// living returns the entries whose process is alive, or cannot be seen. A process
// that was killed leaves its file behind, and its pid may be another's by now.
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

// Killed reports whether the process left its entry behind: Claude Code removes it
// when it is left, by /exit or Ctrl-C, and when its terminal is closed.
func (h *Holders) Killed(s resume.Session, owner resume.Owner) bool {
	for _, root := range h.of.Homes.Roots {
		var e entry
		if agent.ReadJSON(filepath.Join(root, "sessions", strconv.Itoa(owner.PID)+".json"), &e) && e.SessionID == s.Key.ID {
			return true
		}
	}
	return false
}

// entry returns what a living process says of itself. Where the file is half
// written it says nothing: the process shows in /proc all the same.
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

// outer returns the number that we know a process by which lives in a namespace of
// its own and is registered by the number that it has there; 0: it is none.
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

// domain is what makes numbers of processes comparable: linux:MACHINE:NAMESPACE.
type domain struct{ machine, namespace string }

// domainOf reads what an entry says. Versions that tell none are taken for ours.
func domainOf(text string) (domain, bool) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 3 || parts[0] != "linux" {
		return domain{}, false
	}
	return domain{parts[1], parts[2]}, true
}

// thisMachine returns the number that this system was given when it was installed.
func thisMachine() string {
	for _, file := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if text, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}

// foreign reports whether a domain of process numbers is another one than ours. A
// system that has no number, as some containers, wrote no entry that has one.
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
