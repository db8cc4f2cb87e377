//go:build !windows

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"resumed/internal/dirs"
	"resumed/internal/humanize"
)

// leftover is a directory of resumed's own, in a place that programs share.
type leftover struct{ path, what string }

// leftovers returns what is there of resumed besides what install made.
func leftovers(getenv func(string) string) []leftover {
	var all []leftover
	add := func(path, what string) {
		// Only what has our name is ours as a whole; a service may have been given any directory.
		if filepath.Base(path) != "resumed" || !exists(path) || slices.ContainsFunc(all, func(l leftover) bool { return l.path == path }) {
			return
		}
		all = append(all, leftover{path, what})
	}
	if dir := dirs.Config(getenv); dir != "" {
		add(filepath.Join(dir, "resumed"), "configuration")
	}
	if dir, err := dirs.State(getenv); err == nil {
		add(dir, "state: sessions, history, outputs of resumes, undelivered notices")
	}
	if dir := dirs.UserState(getenv); dir != "" {
		add(dir, "state: sessions, history, outputs of resumes, undelivered notices")
	}
	if dir, err := dirs.Runtime(getenv); err == nil {
		add(dir, "socket and leases")
	}
	login, _ := dirs.Login(getenv)
	add(filepath.Join(login, "resumed"), "socket and leases")
	return all
}

// purge removes, after uninstall, all that is left of resumed in the user's home.
func (c *cli) purge(ctx context.Context, dryRun, yes bool) error {
	left := leftovers(os.Getenv)
	if len(left) == 0 {
		fmt.Fprintln(c.out, "Nothing else is left.")
		return c.sayWhoHasTheProgram()
	}
	fmt.Fprintln(c.out, "This is left of resumed:")
	for _, l := range left {
		files, bytes := measure(l.path)
		fmt.Fprintf(c.out, "  %s  (%s, %s; %s)\n", l.path, humanize.Count(files, "file"), bytesOf(bytes), l.what)
	}
	if dryRun {
		_, err := fmt.Fprintln(c.out, "# Nothing was done: this was a dry run.")
		return err
	}
	if status, err := c.client().Status(ctx, false); err == nil {
		end := fmt.Sprintf("kill %d", status.Daemon.PID)
		if dir, err := unitDir(); err == nil && packaged(dir) {
			end = "systemctl --user disable --now resumed"
		}
		return hinted{fmt.Errorf("a daemon is running and would write it again: pid %d", status.Daemon.PID), end + ", then resumed uninstall --purge"}
	}
	if !yes && !c.agreed("Remove all of it? The sessions of your agents stay. [y/N] ") {
		return hinted{errors.New("nothing was removed"), "resumed uninstall --purge --yes"}
	}
	for _, l := range left {
		if err := os.RemoveAll(l.path); err != nil {
			return fmt.Errorf("remove what is left: %w", err)
		}
		fmt.Fprintln(c.out, "removed", l.path)
		removeEmpty(filepath.Dir(l.path))
	}
	return c.sayWhoHasTheProgram()
}

// removeEmpty removes a directory of the home and those above it while nothing is in them,
// such as a ~/.local/state that nobody else uses. A link is somebody's wish and stays.
func removeEmpty(dir string) {
	home, err := os.UserHomeDir()
	for err == nil && strings.HasPrefix(dir, filepath.Clean(home)+string(filepath.Separator)) {
		info, statErr := os.Lstat(dir)
		if statErr != nil || !info.IsDir() || os.Remove(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// agreed asks a person, where there is one.
func (c *cli) agreed(question string) bool {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return false
	}
	fmt.Fprint(c.out, question)
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// sayWhoHasTheProgram says how the program itself goes.
func (c *cli) sayWhoHasTheProgram() error {
	program, err := os.Executable()
	if err != nil || !exists(program) || fleeting(program, os.TempDir()) != "" {
		return nil
	}
	by := "rm " + program
	switch {
	case strings.Contains(program, "/node_modules/"):
		by = "npm uninstall -g @resumed/cli"
	case strings.HasPrefix(program, "/usr/bin/"):
		by = "with your package manager, such as sudo apt purge resumed"
	}
	_, err = fmt.Fprintln(c.out, "The program itself is still there. To remove it:", by)
	return err
}
