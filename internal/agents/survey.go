package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/ownership"
	"resumed/internal/program"
)

// Finding is what is there of one agent.
type Finding struct {
	Name       string
	Configured bool     // the user named it
	Custom     bool     // the user described it
	Program    string   // path; "" where it is not found or the agent cannot say
	How        string   // by which way it was found
	Env        []string // what a run of it needs
	ProgramErr error    // why it is not found
	Homes      []Home

	// Foreign is what another user can have written, of the program and of the
	// homes: it is not obeyed.
	Foreign []*ownership.Error

	// Unwatched are its live processes that keep their sessions where none are watched.
	Unwatched []agent.UnwatchedProcess
}

// Home is one place where an agent writes.
type Home struct {
	Account     string
	Root        string
	Missing     bool
	Directories int // that are watched
	Transcripts int
	Unreadable  []string // of both
	Newest      time.Time
}

// Survey looks for every agent that the configuration knows. It starts nothing.
// recorded is the PATH that the service is run with; empty: it has this one.
func Survey(ctx context.Context, cfg config.Config, recorded string) ([]Finding, error) {
	made, err := Make(cfg)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, name := range sorted(made) {
		a := made[name]
		f := Finding{Name: name}
		for _, entry := range cfg.Agents {
			if entry.Name == name {
				f.Configured, f.Custom = true, entry.Kind == config.KindCustom
			}
		}
		foreign := func(path string) {
			wrong, ok := errors.AsType[*ownership.Error](cfg.Resume.Trust().Check(path))
			told := func(e *ownership.Error) bool { return e.Path == wrong.Path }
			if ok && !slices.ContainsFunc(f.Foreign, told) {
				f.Foreign = append(f.Foreign, wrong)
			}
		}
		f.findProgram(a, recorded)
		if f.Program != "" {
			foreign(f.Program)
		}
		for _, src := range agent.SourcesOf(a) {
			f.Homes = append(f.Homes, visit(src, foreign))
		}
		f.Unwatched, _ = a.Unwatched(ctx) // where processes cannot be seen, none is found
		all = append(all, f)
	}
	return all, nil
}

// findProgram finds the program that would be run where nothing is known of the
// session.
func (f *Finding) findProgram(a agent.Runner, recorded string) {
	if recorded != "" {
		own := os.Getenv("PATH")
		defer os.Setenv("PATH", own)
		_ = os.Setenv("PATH", recorded) // errs on a bad name only
	}
	var found program.Found
	if found, f.ProgramErr = a.Program(); f.ProgramErr != nil {
		return
	}
	f.Program, f.How, f.Env = found.Path, found.Way.String(), found.Environment(nil)
	if recorded != "" && found.Way == program.ByPath {
		f.How = "found in the PATH that install recorded"
	}
}

// visit looks at all that would be watched of a source.
func visit(src agent.Source, foreign func(path string)) Home {
	h := Home{Account: src.Account, Root: src.Root}
	_ = filepath.WalkDir(src.Root, func(path string, entry fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(src.Root, path)
		switch {
		case path == src.Root && errors.Is(err, fs.ErrNotExist):
			h.Missing = true
			return nil
		case err != nil || relErr != nil:
			h.Unreadable = append(h.Unreadable, path)
			return nil
		case entry.IsDir():
			if rel != "." && strings.Count(rel, string(filepath.Separator))+1 > src.Depth {
				return fs.SkipDir
			}
			h.Directories++
		case src.Match(rel):
			h.transcript(path, entry)
			foreign(path)
		}
		return nil
	})
	return h
}

func (h *Home) transcript(path string, entry fs.DirEntry) {
	h.Transcripts++
	file, err := os.Open(path)
	if err != nil {
		h.Unreadable = append(h.Unreadable, path)
		return
	}
	_ = file.Close()
	if info, err := entry.Info(); err == nil && info.ModTime().After(h.Newest) {
		h.Newest = info.ModTime()
	}
}

// Says puts a home into words.
func (h Home) Says() string {
	if h.Missing {
		return h.Root + " is not there"
	}
	return fmt.Sprintf("%s: %d transcripts in %d directories", h.Root, h.Transcripts, h.Directories)
}
