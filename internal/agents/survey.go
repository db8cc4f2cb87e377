package agents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/config"
	"resumed/internal/ownership"
	"resumed/internal/process"
	"resumed/internal/program"
)

// Finding is what was found of one agent.
type Finding struct {
	Name       string
	Configured bool     // it has an entry in the configuration
	Custom     bool     // the user described it
	Program    string   // path; "" if it is not found, or unknown
	How        string   // how it was found
	Env        []string // variables that it needs to run
	ProgramErr error    // why it is not found
	Homes      []Home

	// Foreign are the files of the program and the homes that another user can have written: they are
	// not obeyed.
	Foreign []*ownership.Error

	// Unwatched are its running processes with sessions in homes that are not watched.
	Unwatched []agent.UnwatchedProcess
}

// Home is one directory of an agent.
type Home struct {
	Account     string
	Root        string
	Missing     bool
	Directories int // that are watched
	Transcripts int
	Unreadable  []string // directories and transcripts
	Packed      []string // compressed transcripts, of which only known sessions are continued
}

// Survey looks for every enabled agent. recorded is the PATH of the service; "": the same as here.
func Survey(ctx context.Context, cfg config.Config, recorded string) ([]Finding, error) {
	made, err := Make(cfg)
	if err != nil {
		return nil, err
	}
	ctx = process.WithSnapshot(ctx)
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
		f.Unwatched, _ = a.Unwatched(ctx) // if processes cannot be listed, none is found
		all = append(all, f)
	}
	return all, nil
}

// findProgram finds the program that would run if nothing is known about the session.
func (f *Finding) findProgram(a agent.ProgramFinder, recorded string) {
	if recorded != "" {
		own := os.Getenv("PATH")
		defer os.Setenv("PATH", own)
		_ = os.Setenv("PATH", recorded) // fails only for a bad name
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
		case src.Packed != nil && src.Packed(rel):
			h.Packed = append(h.Packed, path)
		case src.Match(rel):
			h.Transcripts++
			foreign(path)
			if file, err := os.Open(path); err != nil {
				h.Unreadable = append(h.Unreadable, path)
			} else {
				_ = file.Close()
			}
		}
		return nil
	})
	return h
}

// InPath returns the names of the built-in agents' programs that are in PATH.
func InPath() []string {
	var names []string
	for _, b := range builtin {
		a, err := b.New(agent.Options{})
		if err != nil {
			continue
		}
		if found, err := a.Program(); err == nil && found.Way == program.ByPath {
			names = append(names, filepath.Base(found.Path))
		}
	}
	return names
}
