//go:build !linux

package process

import "resumed/internal/resume"

// Limits returns nothing: other systems do not show the umask of a process.
func (t Table) Limits(int) resume.ProcessLimits { return resume.ProcessLimits{} }
