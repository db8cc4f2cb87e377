package holders

import (
	"os"
	"runtime"
	"strings"
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
