package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Uninstall stops the service and removes what install made. With purge it also removes everything else
// in the user's home, after asking unless yes is set.
func (i Installer) Uninstall(ctx context.Context, dryRun, purge, yes bool) error {
	m, err := userManager()
	if err != nil {
		return err
	}
	hooks, err := i.removeOldHooks(dryRun)
	if err != nil {
		return err
	}
	if err := i.uninstall(ctx, m, dryRun, hooks); err != nil {
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

// UninstallHooks only removes the hooks of an earlier release.
func (i Installer) UninstallHooks(dryRun bool) error {
	found, err := i.removeOldHooks(dryRun)
	if err == nil && !found {
		fmt.Fprintln(i.Out, "There are no hooks of an earlier release to remove. A plugin is removed in its agent (docs/plugin.md).")
	}
	return err
}

// uninstall removes the service; hooks means that hooks were removed already.
func (i Installer) uninstall(ctx context.Context, m manager, dryRun, hooks bool) error {
	files := installed(m)
	if len(files) == 0 {
		if !hooks {
			fmt.Fprintln(i.Out, "Nothing is installed.")
		}
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
	for _, f := range files {
		if err := os.Remove(f.path); err != nil {
			return fmt.Errorf("remove file: %w", err)
		}
		fmt.Fprintln(i.Out, "removed", f.path)
	}
	i.removeMade(made)
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
