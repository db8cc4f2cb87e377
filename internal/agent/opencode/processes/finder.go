package processes

import (
	"context"
	"slices"
	"strings"

	"resumed/internal/process"
	"resumed/internal/resume"
)

// Finder finds processes of opencode, or of a program that was made of it.
type Finder struct {
	process.Table
	Is func(path string) bool // reports whether a path is the program's
}

// Owner returns a live process that may hold the session. opencode takes no
// lock and says nowhere which session a process holds, so one that lives in the
// session's directory is enough: two processes on one session both write.
func (f Finder) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	holders, err := f.Holders(ctx, s)
	working := slices.DeleteFunc(slices.Clone(holders), func(p process.Live) bool { return AttachedTo(p.Args) != "" })
	if len(working) > 0 {
		holders = working // a process that shows a server's sessions holds none
	}
	return process.OneOf(holders, s, func(p process.Live) string { return kindOf(p.Args) }), err
}

// Holders returns the processes that may hold the session and are not ours. A
// server may hold those of any directory: it does where no other process does, and
// neither the session's own process nor its permissions say that it is another's.
func (f Finder) Holders(ctx context.Context, s resume.Session) ([]process.Live, error) {
	ctx = process.WithSnapshot(ctx)
	running, err := f.Running(ctx, f.Is)
	if err != nil || len(running) == 0 {
		return nil, err
	}
	place := process.PlaceOf(s.Cwd)
	near := func(p process.Live) bool { return !p.Bystands(s, kindOf(p.Args)) && f.mayHold(ctx, p, s, place) }
	if slices.ContainsFunc(running, near) {
		return slices.DeleteFunc(running, func(p process.Live) bool { return !near(p) }), nil
	}
	if o := s.StartedWith(); o == nil && s.Kind != resume.Interactive || o != nil && !o.Server {
		return nil, nil
	}
	return slices.DeleteFunc(running, func(p process.Live) bool {
		open, err := f.openDatabases(ctx, p.PID)
		return !IsServer(p.Args) || p.Mark != "" || err == nil && !containsFile(open, s.Transcript)
	}), nil
}

// mayHold reports whether a process of opencode may hold the session.
func (f Finder) mayHold(ctx context.Context, p process.Live, s resume.Session, place process.Place) bool {
	if slices.Contains(sessionless, Command(p.Args)) {
		return false
	}
	// One that has another database open has other sessions. One that has none
	// is only just starting.
	if open, _ := f.openDatabases(ctx, p.PID); len(open) > 0 && s.Transcript != "" && !containsFile(open, s.Transcript) {
		return false
	}
	return slices.Contains(Flags.Parse(p.Args).Values("-s", "--session"), s.Key.ID) || p.LivesIn(place) ||
		slices.ContainsFunc(directories(p), func(dir string) bool { return place.Is(process.PlaceOf(dir)) })
}

// openDatabases returns the databases that the process has open, or why that is not known.
func (f Finder) openDatabases(ctx context.Context, pid int) ([]string, error) {
	open, err := f.OpenFiles(ctx, pid)
	var found []string
	for _, file := range open {
		if strings.HasSuffix(file.Name, ".db") {
			found = append(found, file.Name)
		}
	}
	return found, err
}

func containsFile(files []string, path string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return process.SameDir(file, path) })
}

// RunsAs reports whether the process is of the agent and alive. Where the kernel
// does not tell what it is, being alive has to do.
func (f Finder) RunsAs(ctx context.Context, pid int) bool {
	if !f.Seen() && !process.Answers(pid) {
		return false
	}
	running, err := f.Running(ctx, f.Is)
	if err != nil {
		return true // not known: it is not taken for dead
	}
	return slices.ContainsFunc(running, func(p process.Live) bool { return p.PID == pid })
}
