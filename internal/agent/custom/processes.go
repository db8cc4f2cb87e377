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

// Owner returns the process that may hold the session: one that an earlier resume left behind, else one of
// the configured program, if it works in the session's directory or names the session.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	if left, err := a.silentRun(ctx, s); left != nil || err != nil || len(a.is.Program) == 0 {
		return left, err
	}
	is := func(path string) bool { return filepath.Base(path) == a.is.Program[0] }
	return a.Processes.Neighbour(ctx, s, is, a.is.Program[1:]...)
}

// silentRun returns a process of an earlier resume after which neither progress nor a refusal was written: a
// command that goes into the background ends at once, before its work is done. After some output, a process
// that still runs, such as a server, holds nothing. What else a user's own agent holds cannot be known.
func (a *Agent) silentRun(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	silent := make(map[string]bool)
	for _, attempt := range s.Attempts {
		if attempt.Outcome == resume.NoProgress {
			silent[attempt.Mark] = true
		}
	}
	if len(silent) == 0 {
		return nil, nil
	}
	marked, err := a.Processes.Having(ctx, agent.MarkVariable)
	for pid, mark := range marked {
		if silent[mark] {
			return &resume.Owner{PID: pid, Kind: "headless"}, nil
		}
	}
	return nil, err
}
