package gemini

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/resume"
)

// Owner returns the live process that may hold the session. Gemini CLI takes no
// lock and keeps no file open, and an interactive one may change sessions: who
// lives in the project's root may hold any of its sessions.
func (a *Agent) Owner(ctx context.Context, s resume.Session) (*resume.Owner, error) {
	running, err := a.processes.Running(ctx, isProgram)
	if err != nil {
		return nil, err
	}
	for _, p := range running {
		if p.Ours || !p.LivesIn(s.Cwd) && !names(p.Args, s.Key.ID) {
			continue
		}
		return &resume.Owner{PID: p.PID, Kind: kindOf(p.Args), Tmux: p.Pane}, nil
	}
	return nil, nil
}

// isProgram reports whether the path is that of Gemini CLI: as it is called, as
// it is bundled, or as older versions were put together.
func isProgram(path string) bool {
	switch filepath.Base(path) {
	case "gemini", "gemini.js":
		return true
	case "index.js":
		return strings.Contains(path, "gemini-cli")
	}
	return false
}

// names reports whether the arguments name the session.
func names(args []string, id string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return arg == id || strings.HasSuffix(arg, "="+id)
	})
}

// kindOf says whether a person sits before a process of these arguments.
func kindOf(args []string) string {
	headless := slices.ContainsFunc(args, func(arg string) bool {
		return arg == "-p" || arg == "--prompt" || strings.HasPrefix(arg, "-p=") || strings.HasPrefix(arg, "--prompt=")
	})
	if headless {
		return "headless"
	}
	return "interactive"
}
