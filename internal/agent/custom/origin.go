package custom

import (
	"context"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Writer returns the one process that writes the session's file; what it has
// started has it open too. If several do, it is not known whose session it is.
func (a *Agent) Writer(ctx context.Context, s resume.Session) int {
	writers, err := a.Processes.Writers(ctx, s.Transcript)
	writers = a.Processes.Eldest(writers)
	if err != nil || len(writers) != 1 || a.Processes.Variable(writers[0], agent.MarkVariable) != "" {
		return 0
	}
	return writers[0]
}

// Origin returns where a session's process lives, and the part of its environment
// that matters to any program. Of its arguments it has the names of the programs
// that it runs: they tell whether the user's own command is one of them.
func (a *Agent) Origin(pid int, secrets bool) *resume.Origin {
	o := a.Base.Origin(pid, secrets)
	if o == nil {
		return nil
	}
	if exe := a.Processes.Executable(pid); exe != "" {
		o.Args = append(o.Args, filepath.Base(exe))
	}
	for _, arg := range a.Processes.Argv(pid) {
		if name := filepath.Base(arg); name != "" && !strings.ContainsAny(arg, " \t\n=") {
			o.Args = append(o.Args, name)
		}
		if len(o.Args) > 2 {
			break // the program, or its interpreter and its script
		}
	}
	return o
}
