//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"resumed/internal/atomicfile"
	"resumed/internal/sanitize"
	"resumed/launchd"
)

// agentLabel is what launchd calls the daemon.
const agentLabel = "resumed"

// login is the daemon as launchd runs it for a user who is logged in.
type login struct {
	plist  string // the path of its property list
	log    string
	domain string // of the user's own login
}

func loginAgent() (login, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return login{}, fmt.Errorf("find your home directory: %w", err)
	}
	library := filepath.Join(home, "Library")
	return login{
		plist:  filepath.Join(library, "LaunchAgents", agentLabel+".plist"),
		log:    filepath.Join(library, "Logs", agentLabel+".log"),
		domain: fmt.Sprintf("gui/%d", os.Getuid()),
	}, nil
}

func (l login) target() string { return l.domain + "/" + agentLabel }

// list returns the property list of the service.
func (l login) list(s service) (string, error) {
	argv := []string{s.program}
	if s.config != "" {
		argv = append(argv, "--config", s.config)
	}
	text, err := launchd.Agent{Label: agentLabel, Argv: append(argv, "run"), Variables: s.variables, Log: l.log}.Plist()
	if err != nil {
		return "", fmt.Errorf("write the property list: %w", err)
	}
	return text, nil
}

// installAgent runs the daemon as an agent of launchd, and adds plugins to agents. A
// second one brings it up to date.
func (c *cli) installAgent(ctx context.Context, s service, plugins []unitFile, dryRun bool) error {
	l, err := loginAgent()
	if err != nil {
		return err
	}
	text, err := l.list(s)
	if err != nil {
		return err
	}
	if err := foreign(plugins); err != nil {
		return err
	}
	old, err := os.ReadFile(l.plist)
	switch {
	case err == nil && !launchd.Ours(string(old)):
		return hinted{fmt.Errorf("%s was not made by resumed, and was not changed", l.plist), "move it away, then resumed install"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look at file: %w", err)
	case dryRun:
		printFiles(c.out, plugins)
		_, err := fmt.Fprintf(c.out, "# write %s\n%s\nlaunchctl bootout %s\nlaunchctl bootstrap %s %s\n# Nothing was done: this was a dry run.\n",
			l.plist, text, l.target(), l.domain, l.plist)
		return err
	}
	if _, err := c.settle(s); err != nil {
		return err
	}
	if _, err := c.writeFiles(plugins, nil); err != nil {
		return err
	}
	changed := string(old) != text
	if changed {
		for _, dir := range []string{filepath.Dir(l.plist), filepath.Dir(l.log)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("make a directory: %w", err)
			}
		}
		if err := atomicfile.Write(l.plist, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
		fmt.Fprintln(c.out, "wrote", l.plist)
	}
	if loaded := launchctl(ctx, "print", l.target()) == nil; loaded && !changed && !c.anotherVersionRuns(ctx) {
		fmt.Fprintf(c.out, "resumed runs already; see: resumed status, %s\n", l.log)
		return nil
	} else if loaded { // an agent that works lives on
		if err := launchctl(ctx, "bootout", l.target()); err != nil {
			return err
		}
	}
	if err := launchctl(ctx, "bootstrap", l.domain, l.plist); err != nil {
		return hinted{err, "log in at the machine itself: launchd runs such services where you are logged in, and not for ssh alone"}
	}
	fmt.Fprintf(c.out, "resumed runs as %s; see: resumed status, %s\n", l.target(), l.log)
	return nil
}

// uninstallAgent ends the agent of launchd and removes its property list.
func (c *cli) uninstallAgent(ctx context.Context, dryRun, hooks bool) error {
	l, err := loginAgent()
	if err != nil {
		return err
	}
	var files []string
	text, err := os.ReadFile(l.plist)
	service := err == nil && launchd.Ours(string(text))
	if service {
		files = append(files, l.plist)
	}
	for _, f := range pluginFiles(func(string) bool { return true }) {
		if text, err := os.ReadFile(f.path); err == nil && ours(string(text)) {
			files = append(files, f.path)
		}
	}
	switch {
	case len(files) == 0:
		return c.sayNothingIsInstalled(hooks)
	case dryRun:
		if service {
			fmt.Fprintln(c.out, "launchctl bootout", l.target())
		}
		_, err := fmt.Fprintf(c.out, "rm %s\n# Nothing was done: this was a dry run.\n", strings.Join(files, "\nrm "))
		return err
	}
	if service && launchctl(ctx, "print", l.target()) == nil { // otherwise there is nothing to stop
		if err := launchctl(ctx, "bootout", l.target()); err != nil {
			return err
		}
	}
	for _, path := range files {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove file: %w", err)
		}
		fmt.Fprintln(c.out, "removed", path)
	}
	return nil
}

func launchctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "launchctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("launchctl %s: %w: %s", strings.Join(args, " "), err, sanitize.Short(string(out), 400))
	}
	return nil
}

// examineLaunchd says whether the daemon is started by itself.
func examineLaunchd(ctx context.Context, e *examination) {
	l, err := loginAgent()
	if err == nil {
		err = launchctl(ctx, "print", l.target())
	}
	if err != nil {
		e.warn("launchd", "no service is installed, or it is not loaded", "resumed install")
		return
	}
	e.ok("launchd", agentLabel+" is installed; its log is "+l.log)
}
