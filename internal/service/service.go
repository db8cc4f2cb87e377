// Package service installs resumed as a service of the user (systemd, launchd) or of the system, and
// removes it.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/ownership"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/systemd"
)

// Installer installs and removes the service, and reports its steps on Out and Err.
type Installer struct {
	Out, Err   io.Writer
	Version    string                                                      // of this program
	ConfigPath string                                                      // passed to the service; "": the service finds its own
	Config     func() (config.Config, error)                               // the one that the service will load
	Status     func(ctx context.Context, all bool) (control.Status, error) // of the running daemon
	Ask        func(question string) bool                                  // false if nobody can answer
}

// manager runs the daemon as a service of the user: systemd or launchd.
type manager interface {
	// files returns the files that install writes for the manager.
	files(ctx context.Context, s spec) ([]ownFile, error)
	// allFiles returns the same for any version of the manager, without their texts.
	allFiles() []ownFile
	// reach returns nil if the manager answers.
	reach(ctx context.Context) error
	// start enables and starts the service, or restarts it. The words describe the result.
	start(ctx context.Context, again bool) (words string, err error)
	stop(ctx context.Context) error
	// removed is called after the files were removed.
	removed(ctx context.Context) error
	// startCommands and stopCommand are printed by a dry run.
	startCommands() []string
	stopCommand() string
	// note returns further advice about the service, or "".
	note(s spec) string
	examine(ctx context.Context, report Report)
}

func userManager() (manager, error) {
	if runtime.GOOS == "darwin" {
		return newLaunchdAgent()
	}
	return newSystemdUser()
}

// Install runs the daemon as a service of the user. A second call updates it. A dry run only prints the
// steps.
func (i Installer) Install(ctx context.Context, dryRun bool) error {
	s, err := i.describe()
	if err != nil {
		return err
	}
	m, err := userManager()
	if err != nil {
		return err
	}
	if err := i.install(ctx, m, s, dryRun); err != nil {
		return err
	}
	if !dryRun {
		i.tellPlugins()
	}
	return nil
}

// describe returns the service that runs this program in this shell's environment.
func (i Installer) describe() (spec, error) {
	if _, err := i.Config(); err != nil {
		return spec{}, err // the service would end at once
	}
	program, err := os.Executable()
	if err != nil {
		return spec{}, fmt.Errorf("find this program: %w", err)
	}
	s := spec{program: program, variables: recordedVariables(os.Getenv), user: ownership.CurrentUser()}
	if s.temporary = whyTemporary(program, os.TempDir()); s.temporary != "" {
		s.copyOf = program
		if s.program, err = lastingPath(); err != nil {
			return spec{}, err
		}
	}
	if i.ConfigPath != "" {
		if s.config, err = filepath.Abs(i.ConfigPath); err != nil {
			return spec{}, fmt.Errorf("find the configuration: %w", err)
		}
	}
	return s, nil
}

func (i Installer) install(ctx context.Context, m manager, s spec, dryRun bool) error {
	files, err := m.files(ctx, s)
	if err != nil {
		return i.withoutManager(s, err)
	}
	if err := refuseForeign(files); err != nil {
		return err
	}
	if dryRun {
		return i.printInstall(m, s, files)
	}
	if err := m.reach(ctx); err != nil {
		return i.withoutManager(s, err)
	}
	fresh := len(present(files)) == 0
	made, err := i.copyPrograms(s)
	changed, words := false, ""
	if err == nil {
		changed, err = i.writeFiles(files, made)
	}
	if err == nil {
		words, err = m.start(ctx, changed || i.anotherVersionRuns(ctx)) // a restart does not stop working agents
	}
	if err != nil && fresh {
		i.undo(ctx, m, files, made)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(i.Out, words)
	if s.copyOf == "" { // else it was printed already
		i.sayIfNotInPath(s.program)
	}
	if note := m.note(s); note != "" {
		fmt.Fprintln(i.Out, note)
	}
	i.tellStopped(ctx)
	return nil
}

// undo removes what a first install has made before it failed.
func (i Installer) undo(ctx context.Context, m manager, files []ownFile, made []string) {
	written := present(files)
	if len(written) > 0 {
		_ = m.stop(ctx) // it may not have started
	}
	_ = i.removeFiles(written, append(madeBefore(written), made...)) // what is left can be removed by hand
	if len(written) > 0 {
		_ = m.removed(ctx)
	}
}

// tellStopped lists the sessions that were stopped before there was a daemon to see them start: they
// continue only if the user says so. The daemon needs a moment to answer, and to find them.
func (i Installer) tellStopped(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var stopped []view.Session
	for tries := range 25 {
		status, err := i.Status(ctx, false)
		if err != nil && tries >= 5 {
			return // it does not run
		}
		stopped = view.WithoutStart(status.Sessions)
		undecided := func(s view.Session) bool {
			return (s.State == resume.Waiting || s.State == resume.Resuming) && !s.Started.Seen && s.Owner == nil
		}
		if err == nil && !status.Daemon.Reading && !slices.ContainsFunc(status.Sessions, undecided) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	if len(stopped) == 0 {
		return
	}
	fmt.Fprintln(i.Out, "\nThese sessions stopped earlier, and nobody saw with which flags they started:")
	for _, s := range stopped {
		fmt.Fprintf(i.Out, "  %s in %s\n", sanitize.Line(s.Typed()), sanitize.Line(s.Cwd))
	}
	fmt.Fprintln(i.Out, "To continue them with your settings as they are now:\n  resumed retry --unseen")
}

// anotherVersionRuns reports whether the running daemon has another version than this program.
func (i Installer) anotherVersionRuns(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	status, err := i.Status(ctx, false)
	return err == nil && status.Daemon.Version != i.Version
}

func (i Installer) printInstall(m manager, s spec, files []ownFile) error {
	var b strings.Builder
	from, to := s.copies()
	if len(to) > 0 {
		fmt.Fprintf(&b, "# This program %s.\n", s.temporary)
	}
	for n := range to {
		fmt.Fprintf(&b, "cp %s %s\n", from[n], to[n])
	}
	for _, f := range files {
		fmt.Fprintf(&b, "# write %s\n%s\n", f.path, f.text)
	}
	for _, command := range m.startCommands() {
		fmt.Fprintln(&b, command)
	}
	_, err := fmt.Fprintf(i.Out, "%s%s", b.String(), nothingDone)
	return err
}

const nothingDone = "# Nothing was done: this was a dry run.\n"

// withoutManager adds alternatives to an error if there is no systemd, or none that runs. The first one
// copies a temporary program, so that the others find it: an install that fails makes nothing.
func (i Installer) withoutManager(s spec, err error) error {
	if !errors.Is(err, errNoSystemd) && systemdRuns() {
		return err
	}
	return hint.With(err, "one of these instead, which start it without systemd"+s.copyCommand()+strings.ReplaceAll(`
  # now, until the machine stops:
  tmux new-session -d -s resumed 'PROGRAM run'
  # at every start of the machine:
  (crontab -l 2>/dev/null; echo '@reboot PROGRAM run >/dev/null 2>&1') | crontab -
  # with runit:
  mkdir -p ~/service/resumed
  printf '#!/bin/sh\nexec PROGRAM run 2>&1\n' >~/service/resumed/run
  chmod +x ~/service/resumed/run && runsvdir ~/service`, "PROGRAM", s.program))
}

// PrintSystem prints a script that installs a system service for this user.
func (i Installer) PrintSystem() error {
	s, err := i.describe()
	if err != nil {
		return err
	}
	if _, err := i.copyPrograms(s); err != nil {
		return err
	}
	instance := "resumed@" + s.user + ".service"
	const dir = "/etc/systemd/system"
	_, err = fmt.Fprintf(i.Out, `# Runs resumed as %[1]s, from the start of the machine, without a login.
# Look at it, then: resumed install --system | sudo sh
set -e
cat > %[2]s/resumed@.service <<'END'
%[3]sEND
mkdir -p %[2]s/%[4]s.d
cat > %[2]s/%[4]s.d/install.conf <<'END'
%[5]sEND
systemctl daemon-reload
systemctl enable --now %[4]s
# To undo it: systemctl disable --now %[4]s
#             rm -r %[2]s/resumed@.service %[2]s/%[4]s.d
`, s.user, dir, systemd.System, instance, s.dropIn())
	return err
}

// Report collects the findings about the service.
type Report interface {
	OK(name, text string)
	Warn(name, text, fix string)
}

// Examine reports whether something starts the daemon.
func Examine(ctx context.Context, report Report) {
	m, err := userManager()
	if err != nil {
		report.Warn("systemd", err.Error(), "")
		return
	}
	m.examine(ctx, report)
}

// HowToStart returns how to start a daemon that is not running.
func HowToStart() string {
	m, err := newSystemdUser()
	if err == nil && runtime.GOOS == "linux" && (exists(filepath.Join(m.dir, unitName)) || m.packaged()) {
		return "systemctl --user start resumed, and if it does not stay: journalctl --user -u resumed -n 20"
	}
	return "resumed install (as a service), or resumed run (in this terminal)"
}

// RecordedPath returns the PATH that install recorded for the service, or "".
func RecordedPath() string {
	m, err := newSystemdUser()
	if err != nil {
		return ""
	}
	return recordedPath(m.allFiles())
}

// tellPlugins prints how to add the plugin to the agents that are installed and do not have it.
func (i Installer) tellPlugins() {
	cfg, err := i.Config()
	if err != nil {
		return
	}
	made, err := agents.MakeAll(cfg)
	if err != nil {
		return
	}
	var lines strings.Builder
	dir := pluginDir()
	for _, b := range agents.Builtin() {
		if b.Plugin == nil || b.Plugin.Version() != "" {
			continue
		}
		if _, missing := made[b.Name].Program(); missing != nil {
			continue
		}
		fmt.Fprintf(&lines, "  %s", strings.ReplaceAll(b.Plugin.Install, "DIR", dir))
		if b.Plugin.Then != "" {
			fmt.Fprintf(&lines, "    # then %s", b.Plugin.Then)
		}
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return
	}
	where := ""
	if dir == unknownDir {
		where = "; DIR is a clone of the repository"
	}
	fmt.Fprintf(i.Out, "\nWith the plugin, your agents report to the daemon at once (docs/plugin.md%s):\n%s", where, lines.String())
}

const unknownDir = "DIR"

// pluginDir returns a directory with the plugins: a clone of the repository that this program is run in,
// or the one of a package or an archive.
func pluginDir() string {
	here, _ := os.Getwd()
	program, _ := os.Executable()
	bin := filepath.Dir(program)
	for _, dir := range []string{here, bin, filepath.Join(filepath.Dir(bin), "share", "resumed")} {
		if exists(filepath.Join(dir, ".claude-plugin", "marketplace.json")) && exists(filepath.Join(dir, "plugins", "resumed")) {
			return dir
		}
	}
	return unknownDir
}
