//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/mounts"
	"resumed/internal/notify/channels"
	"resumed/internal/notify/desktop"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/state"
	"resumed/internal/terminal/kitty"
)

func (c *cli) examineConfig(e *examination) (config.Config, bool) {
	cfg, path, err := c.load()
	if err == nil {
		_, err = channels.Build(path, cfg, nil, nil)
	}
	if err != nil {
		e.fail("config", err.Error(), "resumed config check")
		return config.Config{}, false
	}
	warnings := config.Warnings(path, cfg)
	for _, warning := range warnings {
		e.warn("config", warning, "")
	}
	if len(warnings) == 0 {
		e.ok("config", cmp.Or(path, "no file: built-in defaults"))
	}
	return cfg, true
}

func examineAgents(ctx context.Context, e *examination, cfg config.Config) {
	recorded := ""
	if dir, err := unitDir(); err == nil {
		recorded = recordedPath(dir)
	}
	found, err := agents.Survey(ctx, cfg, recorded)
	if err != nil {
		e.fail("agents", err.Error(), "resumed config check")
		return
	}
	versions := programVersions(ctx, found)
	directories, here := 0, false
	for _, f := range found {
		directories += examineAgent(e, f, versions[f.Name])
		here = here || present(f)
		if words := cfg.Failovers()[f.Name]; words != "" {
			e.ok("agent "+f.Name, words)
		}
	}
	if !here {
		e.warn("agents", "no agent was found: there is nothing to resume", "install one, or describe your own: resumed config init")
	}
	examineInotify(e, directories)
}

// present reports whether there is anything of an agent here.
func present(f agents.Finding) bool {
	for _, h := range f.Homes {
		if !h.Missing {
			return true
		}
	}
	return f.Program != "" || f.Configured || len(f.Strays) > 0
}

// examineAgent returns how many directories of the agent are watched.
func examineAgent(e *examination, f agents.Finding, version string) int {
	name := "agent " + f.Name
	if !present(f) {
		e.ok(name, notInstalled)
		return 0
	}
	transcripts, directories := 0, 0
	for _, h := range f.Homes {
		transcripts += h.Transcripts
		directories += h.Directories
		if n := len(h.Unreadable); n > 0 {
			e.fail(name, fmt.Sprintf("%s cannot be read, such as %s", humanize.Count(n, "file"), h.Unreadable[0]),
				fmt.Sprintf("sudo chown -R %s %s", userName(), h.Root))
		}
		if h.Missing && f.Configured {
			e.warn(name, h.Says(), "")
		}
		if kind := mounts.Network(h.Root); kind != "" && !h.Missing {
			e.warn(name, fmt.Sprintf("%s is on %s, which other machines may share: a daemon on each of them would continue the same sessions", h.Root, kind), "run resumed on only one of them")
		}
	}
	for _, wrong := range f.Foreign {
		e.fail(name, "it is not used: "+wrong.Path+" "+wrong.Why, wrong.Fix)
	}
	for _, stray := range f.Strays {
		e.warn(name, stray.String(), stray.Remedy())
	}
	const fix = "install it, run resumed install in a shell that finds it, or name it: command = \"…\" in its [[agent]] entry"
	switch {
	case f.ProgramErr != nil && (transcripts > 0 || f.Configured):
		e.fail(name, "its sessions cannot be continued: "+f.ProgramErr.Error(), fix)
	case f.ProgramErr != nil:
		e.warn(name, f.ProgramErr.Error(), fix)
	default:
		text := "its program is looked for when it is needed"
		if f.Program != "" {
			text = version + ", " + f.How
		}
		if len(f.Homes) > 0 {
			text += fmt.Sprintf("; %s in %s", humanize.Count(transcripts, "transcript"), roots(f.Homes))
		}
		e.ok(name, text)
	}
	return directories
}

func roots(homes []agents.Home) string {
	var all []string
	for _, h := range homes {
		all = append(all, h.Root)
	}
	return strings.Join(all, ", ")
}

// programVersions asks every program which version it is of. One of the user's
// own is not asked: nobody knows what it does with a question it does not know.
func programVersions(ctx context.Context, found []agents.Finding) map[string]string {
	versions := make([]string, len(found))
	var all sync.WaitGroup
	for i, f := range found {
		switch {
		case f.Custom || len(f.Foreign) > 0: // nor is one that another can have written
			versions[i] = f.Program
		case f.Program != "":
			all.Go(func() { versions[i] = programVersion(ctx, f.Env, f.Program, "--version") })
		}
	}
	all.Wait()
	byName := make(map[string]string)
	for i, f := range found {
		byName[f.Name] = versions[i]
	}
	return byName
}

// programVersion runs a program for its version. One that does not know the
// question is there all the same.
func programVersion(ctx context.Context, env []string, program, flag string) string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, flag)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return program + " (version unknown)"
	}
	return program + " (" + line + ")"
}

func examineState(e *examination) {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		e.fail("state", err.Error(), "")
		return
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("state", dir+" does not exist yet: the first run creates it")
		return
	case err != nil:
		e.fail("state", err.Error(), "")
		return
	case !info.IsDir():
		e.fail("state", dir+" is not a directory", "mv "+dir+" "+dir+".old")
		return
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		e.fail("state", "it cannot be written: "+err.Error(), fmt.Sprintf("sudo chown -R %s %s && chmod 700 %s", userName(), dir, dir))
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	if info.Mode().Perm()&0o077 != 0 {
		e.warn("state", "other users can read "+dir, "chmod 700 "+dir)
		return
	}
	reader, err := state.OpenReader(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.fail("state", err.Error(), "")
		return
	}
	if reader != nil {
		_ = reader.Close()
	}
	e.ok("state", dir)
}

func (c *cli) examineDaemon(ctx context.Context, e *examination, trust ownership.Trust) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("it does not answer"))
	defer cancel()
	status, err := c.client().Status(ctx, false)
	examineSessions(e, status.Sessions, trust)
	d := status.Daemon
	if err == nil {
		examineWorld(e, d.PID)
	}
	switch {
	case errors.Is(err, control.ErrNoDaemon):
		e.warn("daemon", "not running", "resumed install, or resumed run")
	case err != nil:
		e.fail("daemon", "the socket in "+socketDir()+": "+err.Error(), "systemctl --user restart resumed")
	case d.DryRun:
		e.warn("daemon", fmt.Sprintf("pid %d is a dry run: it resumes nothing", d.PID), "resumed install, or resumed run")
	case !d.Config.OK:
		e.fail("daemon", "the newest configuration has errors and is not used: "+*d.Config.Error, "resumed config check")
	case len(d.Problems) > 0:
		e.fail("daemon", strings.Join(d.Problems, "; "), "")
	case d.Version != version():
		e.warn("daemon", fmt.Sprintf("pid %d is resumed %s, and this is %s", d.PID, d.Version, version()), "systemctl --user restart resumed")
	case d.Notices.Failed > 0:
		e.warn("daemon", fmt.Sprintf("%s did not reach you", humanize.Count(d.Notices.Failed, "notice")), "resumed notify test")
	default:
		e.ok("daemon", fmt.Sprintf("pid %d, resumed %s", d.PID, d.Version))
	}
}

// mostSessions bounds how many sessions are named one by one.
const mostSessions = 20

// examineSessions says which program each interrupted session was run with,
// where that was seen: it is continued with the same.
func examineSessions(e *examination, sessions []resume.View, trust ownership.Trust) {
	named := 0
	for _, s := range sessions {
		if s.State == resume.Watching || named == mostSessions {
			continue
		}
		name := fmt.Sprintf("session %.8s of %s", s.ID, s.Agent)
		if wrong, ok := errors.AsType[*ownership.Error](trust.Check(s.Cwd)); ok && s.Cwd != "" {
			named++
			e.fail(name, "it is not continued: "+wrong.Path+" "+wrong.Why, wrong.Fix)
			continue
		}
		if s.Program == "" {
			continue
		}
		named++
		if _, err := os.Stat(s.Program); err != nil {
			e.warn(name, s.Program+", which its own process ran, is gone: the agent's usual program continues it", "")
			continue
		}
		e.ok(name, s.Program+", as its own process ran it, unless command is set for the agent")
	}
}

func examineTmux(ctx context.Context, e *examination) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		e.warn("tmux", "not found: without it resumed cannot type into an agent that is open in a terminal", "install tmux")
		return
	}
	e.ok("tmux", programVersion(ctx, nil, path, "-V"))
}

// examineKitty says whether an agent in this kitty can be typed into.
func examineKitty(ctx context.Context, e *examination) {
	window, err := kitty.Look(os.Environ())
	if window == nil && err == nil {
		return // it is not in one
	}
	if err == nil {
		_, err = window.Facts(ctx)
	}
	if err != nil {
		e.warn("kitty", "resumed cannot type into an agent in this kitty: "+err.Error(), kitty.Hint+", then restart kitty")
		return
	}
	e.ok("kitty", "remote control works here")
}

func examineDesktop(ctx context.Context, e *examination, cfg config.Config) {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Second, errors.New("the desktop session does not answer"))
	defer cancel()
	name, err := desktop.Server(ctx)
	switch {
	case err == nil:
		e.ok("desktop", name+" shows notices")
	case len(cfg.Notify.Desktop) == 0:
		e.ok("desktop", "not used")
	default:
		e.warn("desktop", "a notice cannot be shown now: "+err.Error()+"; it waits a day for that", "add a channel that reaches you elsewhere, such as your phone: "+toAddChannel(cfg))
	}
}

// toAddChannel says where a channel is written down.
func toAddChannel(cfg config.Config) string {
	if len(cfg.Notify.Service) > 0 {
		return "resumed notify test"
	}
	return "[[notify.service]] in the file that resumed config init writes"
}

func examineSystemd(ctx context.Context, e *examination) {
	if runtime.GOOS == "darwin" {
		examineLaunchd(ctx, e)
		return
	}
	if runtime.GOOS != "linux" {
		e.ok("systemd", "not on "+runtime.GOOS)
		return
	}
	if !systemdRuns() {
		e.warn("systemd", "not running here: nothing starts resumed automatically", "resumed install shows what to do instead")
		return
	}
	version, err := systemdVersion(ctx)
	if err != nil {
		e.warn("systemd", err.Error(), "")
		return
	}
	dir, err := unitDir()
	switch {
	case err == nil && len(installed(dir)) > 0:
		e.ok("systemd", fmt.Sprintf("version %d, %s is installed", version, unitName))
	case packaged(dir):
		e.ok("systemd", fmt.Sprintf("version %d, a package's unit is enabled", version))
	default:
		e.warn("systemd", fmt.Sprintf("version %d, and no service is installed", version), "resumed install")
	}
	if lingers(userName()) {
		e.ok("linger", "your services keep running when you log out")
	} else {
		e.warn("linger", "your services stop when you log out", "loginctl enable-linger")
	}
}

// examineClock looks at what every stated time is compared with.
func examineClock(e *examination, now time.Time) {
	if zone := os.Getenv("TZ"); zone != "" && !filepath.IsAbs(strings.TrimPrefix(zone, ":")) {
		if _, err := time.LoadLocation(strings.TrimPrefix(zone, ":")); err != nil {
			e.fail("zone", fmt.Sprintf("TZ=%s is not a time zone: clock times are read as UTC", zone), "unset TZ, or set it to one such as Europe/Berlin")
		}
	}
	text := now.Format("Mon 2 Jan 2006 15:04:05 MST (-07:00)")
	switch synchronised, known := clockSynchronised(); {
	case now.Year() < 2025:
		e.fail("clock", text+" is in the past", "timedatectl set-ntp true")
	case known && !synchronised:
		e.warn("clock", text+", not synchronised", "timedatectl set-ntp true")
	default:
		e.ok("clock", text)
	}
}

func userName() string {
	if current, err := user.Current(); err == nil {
		return current.Username
	}
	return fmt.Sprint(os.Getuid())
}
