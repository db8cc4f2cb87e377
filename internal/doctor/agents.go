package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/mounts"
	"resumed/internal/ownership"
	"resumed/internal/program"
)

func examineAgents(ctx context.Context, r *Report, in Input) {
	cfg := in.Config
	found, err := agents.Survey(ctx, cfg, in.RecordedPath)
	if err != nil {
		r.Fail("agents", err.Error(), "resumed config check")
		return
	}
	versions := programVersions(ctx, found)
	directories, here := 0, false
	for _, f := range found {
		directories += examineAgent(r, f, versions[f.Name])
		here = here || present(f)
		if words := cfg.Failovers()[f.Name]; words != "" {
			r.OK("agent "+f.Name, words)
		}
	}
	examinePlugins(r, found, in.SocketDir, time.Now())
	if !here {
		r.Warn("agents", noAgent, "install an agent, or describe your own: resumed config init")
	}
	examineInotify(r, directories)
}

// present reports whether this machine has the agent's files or program, or an entry for it.
func present(f agents.Finding) bool {
	for _, h := range f.Homes {
		if !h.Missing {
			return true
		}
	}
	return f.Program != "" || f.Configured || len(f.Unwatched) > 0
}

// examineAgent returns how many directories of the agent are watched.
func examineAgent(r *Report, f agents.Finding, version string) int {
	name := "agent " + f.Name
	if !present(f) {
		r.OK(name, notInstalled)
		return 0
	}
	transcripts, directories, roots := 0, 0, []string{}
	for _, h := range f.Homes {
		roots = append(roots, h.Root)
		transcripts += h.Transcripts
		directories += h.Directories
		if n := len(h.Unreadable); n > 0 {
			r.Fail(name, fmt.Sprintf("%s cannot be read, such as %s", humanize.Count(n, "file"), h.Unreadable[0]),
				"sudo chown -R "+ownership.CurrentUser()+" "+h.Root)
		}
		if n := len(h.Packed); n > 0 {
			r.OK(name, fmt.Sprintf("%s compressed and not watched, such as %s: sessions that the daemon knows are continued, any other appears when you open it again",
				humanize.Count(n, "transcript")+" "+humanize.Verb(n, "is", "are"), h.Packed[0]))
		}
		if h.Missing && f.Configured {
			r.Warn(name, h.Root+" is not there", "")
		}
		if kind := mounts.Network(h.Root); kind != "" && !h.Missing {
			r.Warn(name, fmt.Sprintf("%s is on %s, which other machines may share: a daemon on each of them would continue the same sessions", h.Root, kind), "run resumed on only one of them")
		}
	}
	for _, wrong := range f.Foreign {
		r.Fail(name, "it is not used: "+wrong.Path+" "+wrong.Why, wrong.Fix)
	}
	for _, stray := range f.Unwatched {
		r.Warn(name, stray.String(), stray.Remedy())
	}
	const fix = "install it, run resumed install in a shell that finds it, or name it: command = \"…\" in its [[agent]] entry"
	switch {
	case f.ProgramErr != nil && (transcripts > 0 || f.Configured):
		r.Fail(name, "its sessions cannot be continued: "+f.ProgramErr.Error(), fix)
	case f.ProgramErr != nil:
		r.Warn(name, f.ProgramErr.Error(), fix)
	default:
		text := "its program is looked for when it is needed"
		if f.Program != "" {
			text = version + ", " + f.How
		}
		if len(f.Homes) > 0 {
			text += fmt.Sprintf("; %s in %s", humanize.Count(transcripts, "transcript"), strings.Join(roots, ", "))
		}
		r.OK(name, text)
	}
	return directories
}

// examinePlugins reports which of the agents have the plugin, and when it last called.
func examinePlugins(r *Report, found []agents.Finding, runtimeDir string, now time.Time) {
	for _, b := range agents.Builtin() {
		if b.Plugin == nil || !slices.ContainsFunc(found, func(f agents.Finding) bool { return f.Name == b.Name && present(f) }) {
			continue
		}
		text := "not installed, and not needed: its sessions are watched (docs/plugin.md)"
		if version := b.Plugin.Version(); version != "" {
			text = "version " + version + ", has not called since you logged in"
			if at := control.LastCall(runtimeDir, b.Name); !at.IsZero() {
				text = "version " + version + ", last called " + humanize.Span(now.Sub(at)) + " ago"
			} else if b.Plugin.Then != "" {
				text += ": " + b.Plugin.Then
			}
		}
		r.OK("plugin "+b.Name, text)
	}
}

// programVersions asks every program for its version. Custom agents are not asked: a program may do
// anything with an unknown flag.
func programVersions(ctx context.Context, found []agents.Finding) map[string]string {
	var mu sync.Mutex // guards versions
	var all sync.WaitGroup
	versions := make(map[string]string)
	for _, f := range found {
		all.Go(func() {
			version := f.Program
			if version != "" && !f.Custom && len(f.Foreign) == 0 { // nor programs that another user can have written
				version = program.Version(ctx, f.Env, f.Program, "--version")
			}
			mu.Lock()
			defer mu.Unlock()
			versions[f.Name] = version
		})
	}
	all.Wait()
	return versions
}
