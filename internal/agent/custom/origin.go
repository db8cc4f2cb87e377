package custom

import (
	"context"
	"path/filepath"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/resume"
)

// Writer returns the only process that writes the session's file, without child processes that inherited it.
// If there are several, the owner is not known.
func (a *Agent) Writer(ctx context.Context, s resume.Session) int {
	writers, err := a.Processes.Writers(ctx, s.Transcript)
	writers = a.Processes.Eldest(writers)
	if err != nil || len(writers) != 1 || a.Processes.Variable(writers[0], agent.MarkVariable) != "" {
		return 0
	}
	return writers[0]
}

// Origin returns the directory of a session's process, and the variables that matter to any program. Its
// Args are only names of programs: they tell whether the user's own command is one of them.
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
