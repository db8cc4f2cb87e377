package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"resumed/internal/dirs"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

// leftover is a directory of resumed, in a directory that other programs use too.
type leftover struct{ path, what string }

// leftovers returns the directories of resumed that install did not make.
func leftovers(getenv func(string) string) []leftover {
	const state, socket = "state: sessions, history, outputs of resumes, undelivered notices", "socket and leases"
	stateDir, _ := dirs.State(getenv) // one that is not known is ""
	runtimeDir, _ := dirs.Runtime(getenv)
	login, _ := dirs.Login(getenv)
	var all []leftover
	for _, l := range []leftover{
		{filepath.Join(dirs.Config(getenv), "resumed"), "configuration"},
		{stateDir, state},
		{dirs.UserState(getenv), state},
		{runtimeDir, socket},
		{filepath.Join(login, "resumed"), socket},
	} {
		// Only a directory with our name is ours as a whole; a service can be configured with any directory.
		ours := filepath.IsAbs(l.path) && filepath.Base(l.path) == "resumed" && exists(l.path)
		if ours && !slices.ContainsFunc(all, func(other leftover) bool { return other.path == l.path }) {
			all = append(all, l)
		}
	}
	return all
}

// purge removes, after uninstall, everything of resumed in the user's home.
func (i Installer) purge(ctx context.Context, dryRun, yes bool) error {
	left := leftovers(os.Getenv)
	if len(left) == 0 {
		if len(programsLeft()) == 0 {
			fmt.Fprintln(i.Out, "Nothing else is left.")
		}
		return i.sayWhoHasTheProgram()
	}
	fmt.Fprintln(i.Out, "This is left of resumed:")
	for _, l := range left {
		files, bytes := dirs.Measure(l.path)
		fmt.Fprintf(i.Out, "  %s  (%s, %s; %s)\n", l.path, humanize.Count(files, "file"), humanize.Bytes(bytes), l.what)
	}
	if dryRun {
		_, err := fmt.Fprint(i.Out, nothingDone)
		return err
	}
	if status, err := i.Status(ctx, false); err == nil {
		end := fmt.Sprintf("kill %d", status.Daemon.PID)
		if m, err := newSystemdUser(); err == nil && m.packaged() {
			end = "systemctl --user disable --now resumed"
		}
		return hint.With(fmt.Errorf("a daemon is running and would write it again: pid %d", status.Daemon.PID), end+", then resumed uninstall --purge")
	}
	if !yes && !i.Ask("Remove all of it? The sessions of your agents stay. [y/N] ") {
		return hint.With(errors.New("nothing was removed"), "resumed uninstall --purge --yes")
	}
	for _, l := range left {
		if err := os.RemoveAll(l.path); err != nil {
			return fmt.Errorf("remove what is left: %w", err)
		}
		fmt.Fprintln(i.Out, "removed", l.path)
		removeEmpty(filepath.Dir(l.path))
	}
	return i.sayWhoHasTheProgram()
}

// removeEmpty removes an empty directory in the home, and then its parents while they are empty, such
// as ~/.local/state. A link was made on purpose and stays.
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

// programsLeft returns this program, unless it is temporary, and what is where install copies it to.
func programsLeft() (left []string) {
	if program, err := os.Executable(); err == nil && exists(program) && whyTemporary(program, os.TempDir()) == "" {
		left = append(left, program)
	}
	copied, err := lastingPath()
	if err != nil {
		return left
	}
	for _, path := range []string{copied, filepath.Join(filepath.Dir(copied), hubName)} {
		if isResumed(path) && !slices.ContainsFunc(left, func(other string) bool { return sameFile(other, path) }) {
			left = append(left, path)
		}
	}
	return left
}

// sayWhoHasTheProgram prints how to remove the program itself.
func (i Installer) sayWhoHasTheProgram() error {
	var err error
	for _, program := range programsLeft() {
		by := "rm " + sanitize.ShellWord(program)
		switch {
		case strings.Contains(program, "/node_modules/"):
			by = "npm uninstall -g @resumed/cli"
		case strings.HasPrefix(program, "/usr/bin/"):
			by = "with your package manager, such as sudo apt purge resumed"
		}
		_, err = fmt.Fprintln(i.Out, "The program itself is still there. To remove it:", by)
	}
	return err
}

// Uninstall stops the service and removes what install made. With purge it also removes everything else
// in the user's home, after asking unless yes is set.
func (i Installer) Uninstall(ctx context.Context, dryRun, purge, yes bool) error {
	m, err := userManager()
	if err != nil {
		return err
	}
	if err := i.uninstall(ctx, m, dryRun); err != nil {
		return err
	}
	if purge {
		return i.purge(ctx, dryRun, yes)
	}
	if !dryRun {
		i.sayWhatStays()
	}
	return nil
}

// uninstall removes the service.
func (i Installer) uninstall(ctx context.Context, m manager, dryRun bool) error {
	files := present(m.allFiles())
	if len(files) == 0 {
		fmt.Fprintln(i.Out, "Nothing is installed.")
		return nil
	}
	made := madeBefore(files)
	unit := m.allFiles()[0].path // a service that resumed did not install is not stopped
	ours := slices.ContainsFunc(files, func(f ownFile) bool { return f.path == unit })
	if dryRun {
		if ours {
			fmt.Fprintln(i.Out, m.stopCommand())
		}
		for _, f := range files {
			fmt.Fprintln(i.Out, "rm", f.path)
		}
		for _, path := range made {
			if isResumed(path) {
				fmt.Fprintln(i.Out, "rm", path)
			}
		}
		_, err := fmt.Fprint(i.Out, nothingDone)
		return err
	}
	// Without a manager there is nothing to stop, but the files can be removed.
	managed := m.reach(ctx) == nil
	if managed && ours {
		if err := m.stop(ctx); err != nil {
			return err
		}
	}
	if err := i.removeFiles(files, made); err != nil {
		return err
	}
	if managed {
		return m.removed(ctx)
	}
	return nil
}

// sayWhatStays prints how to remove the rest, with a command that still exists.
func (i Installer) sayWhatStays() {
	var paths []string
	for _, l := range leftovers(os.Getenv) {
		paths = append(paths, l.path)
	}
	if len(paths) == 0 {
		return
	}
	by := "resumed uninstall --purge"
	if _, err := exec.LookPath("resumed"); err != nil { // its copy may have been removed just now
		by = "rm -r " + strings.Join(paths, " ")
	}
	fmt.Fprintln(i.Out, "Your settings and the state stay. To remove them too:", by)
}
