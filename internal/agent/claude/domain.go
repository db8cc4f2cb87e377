package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"resumed/internal/agent"
)

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
func (a *Agent) foreign(text string) bool {
	d, told := domainOf(text)
	switch {
	case !told:
		return false
	case runtime.GOOS != "linux", d.machine != "" && d.machine != thisMachine():
		return true
	}
	ours, err := os.Readlink(a.Processes.Path(os.Getpid(), "ns", "pid"))
	return err == nil && d.namespace != "" && d.namespace != ours
}

// heldElsewhere says that a process which cannot be seen from here may hold a session.
type heldElsewhere struct{ entry entry }

// fresh reports whether the entry may be of whoever took the session's last prompt.
// Claude Code writes its entry when a turn begins and when it ends, and nothing in
// between: how long ago that was says nothing about whether it lives.
func (e entry) fresh(prompted time.Time) bool {
	return e.UpdatedAt == 0 || !e.changed().Before(prompted.Add(-slack))
}

func (h *heldElsewhere) Error() string {
	where := "in a container of this machine"
	if d, _ := domainOf(h.entry.Domain); d.machine != thisMachine() {
		where = fmt.Sprintf("on another machine (its /etc/machine-id begins with %.8s)", d.machine)
	}
	return fmt.Sprintf("process %d of a Claude Code %s has registered it: end it there, and it is continued; if that process is gone for good, remove %s",
		h.entry.number, where, filepath.Join(h.entry.dir, strconv.Itoa(h.entry.number)+".json"))
}

// Is reports that nobody can know: a person is told.
func (h *heldElsewhere) Is(target error) bool { return target == agent.ErrUnseen }
