//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/atomicfile"
	"resumed/internal/sanitize"
)

const unitName = "resumed.service"

func (c *cli) installCommand() *cobra.Command {
	dryRun, system, hooks, yes, plugins := false, false, false, false, make(map[string]*bool)
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Run the daemon as your own service",
		Long: "Writes a systemd user unit (on macOS a launchd agent) that runs this program with your\n" +
			"current PATH, so that it finds your agents, then enables and starts it. Run it again to\n" +
			"update the service. A program in a temporary directory is first copied to ~/.local/bin.\n\n" +
			"With --hooks, Claude Code and Codex also tell the daemon at once when a session stops: it\n" +
			"shows what it would change in their settings, asks, and keeps a copy. uninstall takes it\n" +
			"out again.",
		Example: "  resumed install --dry-run\n  resumed install\n  resumed install --hooks\n  resumed install --system | sudo sh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := c.describeService()
			if err != nil {
				return err
			}
			if system {
				if _, err := c.settle(service); err != nil {
					return err
				}
				return c.printSystemInstall(service)
			}
			install := func() error {
				return c.install(cmd.Context(), service, pluginFiles(func(agent string) bool { return *plugins[agent] }), dryRun)
			}
			if hooks {
				return c.installWithHooks(cmd.Context(), service, dryRun, yes, install)
			}
			return install()
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&system, "system", false, "print how to run it as resumed@USER.service")
	cmd.Flags().BoolVar(&hooks, "hooks", false, "also let Claude Code and Codex tell the daemon at once when a session stops")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --hooks: do not ask")
	for _, b := range agents.Builtin() {
		if b.Plugin != nil {
			plugins[b.Name] = cmd.Flags().Bool(b.Name+"-plugin", false, "also add a plugin to "+b.Title+" that reports its own retries")
		}
	}
	return cmd
}

// installWithHooks is install, and lets agents call this program. Where there is no service
// manager they do all the same, and that is no failure: the daemon is run otherwise there.
func (c *cli) installWithHooks(ctx context.Context, s service, dryRun, yes bool, install func() error) error {
	plan, err := c.planHooks(ctx, s.program)
	if err != nil {
		return err
	}
	if !c.showHooks(plan, dryRun, yes) {
		return hinted{errors.New("nothing was done"), "resumed install --hooks --yes, or without --hooks"}
	}
	err = install()
	without, ok := errors.AsType[noManager](err)
	if !dryRun {
		if hookErr := c.addHooks(s, plan, without.made); hookErr != nil {
			return errors.Join(hookErr, err)
		}
	}
	if ok {
		fmt.Fprintf(c.err, "No service was installed: %v\nStart the daemon with %s\n", without.error, unsupervised(s.program))
		return nil
	}
	return err
}

// describeService returns the service that runs this very program as it would
// run here.
func (c *cli) describeService() (service, error) {
	program, err := os.Executable()
	if err != nil {
		return service{}, fmt.Errorf("find this program: %w", err)
	}
	s := service{program: program, variables: recorded(os.Getenv)}
	if s.fleeting = fleeting(program, os.TempDir()); s.fleeting != "" {
		s.copyOf = program
		if s.program, err = lasting(); err != nil {
			return service{}, err
		}
	}
	if c.configArg != "" {
		if s.config, err = filepath.Abs(c.configArg); err != nil {
			return service{}, fmt.Errorf("find the configuration: %w", err)
		}
	}
	current, err := user.Current()
	if err != nil {
		return service{}, fmt.Errorf("find who you are: %w", err)
	}
	s.user = current.Username
	return s, nil
}

// unitDir returns where a user's own units are.
func unitDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory: %w", err)
	}
	return filepath.Join(dir, "systemd", "user"), nil
}

func (c *cli) install(ctx context.Context, s service, plugins []unitFile, dryRun bool) error {
	if runtime.GOOS == "darwin" {
		return c.installAgent(ctx, s, plugins, dryRun)
	}
	dir, err := unitDir()
	if err != nil {
		return err
	}
	version, err := systemdVersion(ctx)
	if err != nil {
		return c.withoutSystemd(s, err, dryRun)
	}
	files := append(s.userFiles(dir, version), plugins...)
	if err := foreign(files); err != nil {
		return err
	}
	if dryRun {
		return c.printInstall(s, files)
	}
	if err := reachManager(ctx); err != nil {
		return c.withoutSystemd(s, err, dryRun)
	}
	made, err := c.settle(s)
	if err != nil {
		return err
	}
	changed, err := c.writeFiles(files, made)
	if err != nil {
		return err
	}
	if changed {
		if err := c.systemctl(ctx, "daemon-reload"); err != nil {
			return err
		}
	}
	if err := c.systemctl(ctx, "enable", unitName); err != nil {
		return err
	}
	act := "start"
	if changed || c.anotherVersionRuns(ctx) {
		act = "restart" // an agent that works lives on
	}
	if err := c.systemctl(ctx, act, unitName); err != nil {
		return hinted{err, "journalctl --user -u resumed -n 20"}
	}
	fmt.Fprintf(c.out, "resumed runs as %s; see: resumed status, journalctl --user -u resumed\n", unitName)
	if s.copyOf == "" { // of a copy it was said
		c.sayIfNotInPath(s.program)
	}
	if !lingers(s.user) {
		fmt.Fprintln(c.out, "It stops when you log out. To keep it running: loginctl enable-linger")
	}
	return nil
}

// anotherVersionRuns reports whether the daemon that runs is not this program.
func (c *cli) anotherVersionRuns(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	status, err := c.client().Status(ctx, false)
	return err == nil && status.Daemon.Version != version()
}

// foreign refuses to touch files that somebody else wrote.
func foreign(files []unitFile) error {
	for _, f := range files {
		old, err := os.ReadFile(f.path)
		if err == nil && !ours(string(old)) {
			return hinted{fmt.Errorf("%s was not made by resumed, and was not changed", f.path), "move it away, then resumed install"}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at file: %w", err)
		}
	}
	return nil
}

// writeFiles writes what is not there yet and reports whether anything changed.
func (c *cli) writeFiles(files []unitFile, made []string) (changed bool, err error) {
	made = append(madeBefore(files), made...)
	for _, f := range files {
		fresh, err := makeDirs(filepath.Dir(f.path))
		if err != nil {
			return changed, fmt.Errorf("make a directory: %w", err)
		}
		made = append(made, fresh...)
	}
	for _, f := range files {
		text := f.text
		if f.records {
			text += madeLines(made)
		}
		if old, err := os.ReadFile(f.path); err == nil && string(old) == text {
			continue
		}
		if err := atomicfile.Write(linked(f.path), []byte(text), 0o644); err != nil {
			return changed, fmt.Errorf("write file: %w", err)
		}
		changed = true
		fmt.Fprintln(c.out, "wrote", f.path)
	}
	return changed, nil
}

// linked returns what a link leads to: who keeps units elsewhere keeps the link.
func linked(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

func (c *cli) printInstall(s service, files []unitFile) error {
	var b strings.Builder
	if s.copyOf != "" {
		fmt.Fprintf(&b, "# This program %s.\ncp %s %s\n", s.fleeting, s.copyOf, s.program)
	}
	printFiles(&b, files)
	for _, args := range [][]string{{"daemon-reload"}, {"enable", unitName}, {"restart", unitName}} {
		fmt.Fprintf(&b, "systemctl --user %s\n", strings.Join(args, " "))
	}
	b.WriteString("# Nothing was done: this was a dry run.\n")
	_, err := fmt.Fprint(c.out, b.String())
	return err
}

func printFiles(w io.Writer, files []unitFile) {
	for _, f := range files {
		fmt.Fprintf(w, "# write %s\n%s\n", f.path, f.text)
	}
}

var errNoSystemd = errors.New("install needs systemd")

// withoutSystemd adds to an error what can be done where there is no systemd, or
// none that runs. A program that will vanish is put first where those lines find it.
func (c *cli) withoutSystemd(s service, err error, dryRun bool) error {
	if !errors.Is(err, errNoSystemd) && systemdRuns() {
		return err
	}
	if dryRun {
		return hinted{noManager{err, nil}, unsupervised(s.program)}
	}
	made, failed := c.settle(s)
	if failed != nil {
		return failed
	}
	return hinted{noManager{err, made}, unsupervised(s.program)}
}

// noManager is why no service can be installed where nothing would run it, and what was
// made all the same.
type noManager struct {
	error
	made []string
}

func (n noManager) Unwrap() error { return n.error }

// systemdVersion returns the version of systemd here.
func systemdVersion(ctx context.Context) (int, error) {
	const hint = "resumed run, under the supervisor that you have"
	out, err := exec.CommandContext(ctx, "systemctl", "--version").Output()
	if err != nil {
		return 0, hinted{fmt.Errorf("%w: %w", errNoSystemd, err), hint}
	}
	var version int
	if _, err := fmt.Sscanf(string(out), "systemd %d", &version); err != nil {
		return 0, hinted{fmt.Errorf("systemctl does not say which systemd it is of: %q", sanitize.Short(string(out), 80)), hint}
	}
	return version, nil
}

// reachManager returns nil where the user's own service manager answers.
func reachManager(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "systemctl", "--user", "show-environment").CombinedOutput()
	if err != nil {
		return hinted{
			fmt.Errorf("your own service manager does not answer: %s", sanitize.Short(string(out), 200)),
			"log in as yourself rather than by su or sudo, or resumed install --system",
		}
	}
	return nil
}

func (c *cli) systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl --user %s: %w: %s", strings.Join(args, " "), err, sanitize.Short(string(out), 400))
	}
	return nil
}

// lingers reports whether the user's services work on without a login.
func lingers(name string) bool {
	_, err := os.Stat(filepath.Join("/var/lib/systemd/linger", name))
	return err == nil
}
