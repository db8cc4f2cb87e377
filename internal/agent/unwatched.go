package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"resumed/internal/process"
	"resumed/internal/sanitize"
)

// UnwatchedProcess is a live process of an agent that stores its sessions in a home that is not
// watched, or a server of sessions that is not configured.
type UnwatchedProcess struct {
	PID      int
	Variable string   // that names the home
	Home     string   // the value of Variable; of a server, its address
	Roots    []string // what should be watched: only the last one is new; none: it is a server
}

// String returns a sentence for people.
func (s UnwatchedProcess) String() string {
	if len(s.Roots) == 0 {
		return fmt.Sprintf("process %d serves sessions at %s, which is not configured: they are not continued", s.PID, sanitize.Short(s.Home, sanitize.Sentence))
	}
	return fmt.Sprintf("process %d has %s=%s, which is not watched: its sessions are not continued",
		s.PID, s.Variable, sanitize.Short(s.Home, sanitize.Sentence))
}

// Remedy returns the line of the configuration that fixes it.
func (s UnwatchedProcess) Remedy() string {
	if len(s.Roots) == 0 {
		return fmt.Sprintf("server = %q in its [[agent]] entry", s.Home)
	}
	quoted := make([]string, len(s.Roots))
	for i, root := range s.Roots {
		quoted[i] = strconv.Quote(root)
	}
	return fmt.Sprintf("roots = [%s] in its [[agent]] entry", strings.Join(quoted, ", "))
}

// Unwatched returns the live processes of the agent whose environment names a home that is not
// watched, one per home. A process with another home directory than the user's belongs to another
// user.
func (t *Transcripts) Unwatched(ctx context.Context) ([]UnwatchedProcess, error) {
	running, err := t.Processes.Running(ctx, t.about.Is)
	if err != nil {
		return nil, err
	}
	variable, _, _ := strings.Cut(t.Elsewhere("/somewhere"), "=")
	var found []UnwatchedProcess
	for _, p := range running {
		said := p.Variable(variable)
		if said == "" || p.Mark != "" || !process.SameDir(p.Variable("HOME"), t.UserDir) {
			continue
		}
		if !filepath.IsAbs(said) {
			said = filepath.Join(p.Cwd, said)
		}
		home := filepath.Clean(said)
		if below := filepath.Join(said, filepath.Base(t.Homes.Usual)); t.Elsewhere(below) == variable+"="+home {
			home = below // the variable names its parent directory
		}
		is := func(other string) bool { return process.SameDir(other, home) }
		listed := func(s UnwatchedProcess) bool { return is(s.Roots[len(s.Roots)-1]) }
		if !slices.ContainsFunc(t.Homes.Roots, is) && !slices.ContainsFunc(found, listed) {
			found = append(found, UnwatchedProcess{p.PID, variable, said, append(slices.Clone(t.Homes.Roots), home)})
		}
	}
	return found, nil
}
