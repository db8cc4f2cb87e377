//go:build !linux

package runner

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"resumed/internal/resume"
)

// StartTime is known on Linux alone.
func StartTime(int) (uint64, error) {
	return 0, fmt.Errorf("read start time: %w", errors.ErrUnsupported)
}

// Find finds nothing: environments of other processes are not read here.
func Find(string) (*Process, bool) { return nil, false }

// Sees reports whether processes of an earlier daemon can be told from others.
func Sees() bool { return false }

// alive cannot tell a process from a later owner of its pid.
func alive(process resume.Process) bool { return answers(process.PID) }

func age(resume.Process) time.Duration { return 0 }

func sealDescriptors() {}

// family is the process group: what leaves it is not found here.
type family struct{ group int }

func (f family) empty() bool { return f.group == 0 }

func (f family) size() int {
	if f.empty() {
		return 0
	}
	return 1
}

func (p *Process) family() family {
	if p.PID <= 0 || syscall.Kill(-p.PID, 0) != nil {
		return family{}
	}
	return family{group: p.PID}
}

func (f family) signal(sig syscall.Signal, told map[resume.Process]bool) {
	group := resume.Process{PID: f.group}
	if !told[group] {
		_ = syscall.Kill(-f.group, sig)
	}
	told[group] = true
}
