package process

import (
	"strings"

	"golang.org/x/sys/unix"

	"resumed/internal/resume"
)

// resources is how many limits setrlimit(2) has.
const resources = unix.RLIMIT_RTTIME + 1

// Limits returns the umask, the niceness and the resource limits of a process. It is zero if they
// cannot be read.
func (t Table) Limits(pid int) resume.ProcessLimits {
	var l resume.ProcessLimits
	if l.Umask = strings.TrimSpace(t.Status(pid)["Umask"]); l.Umask == "" {
		return resume.ProcessLimits{}
	}
	if raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil {
		l.Nice = 20 - raw // so that no result of the system call is negative
	}
	for resource := range resources {
		var limit unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &limit) != nil {
			return resume.ProcessLimits{}
		}
		l.Resources = append(l.Resources, resume.Resource{Soft: limit.Cur, Hard: limit.Max})
	}
	return l
}
