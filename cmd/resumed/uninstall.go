//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) uninstallCommand() *cobra.Command {
	dryRun, purge, yes, hooksOnly := false, false, false, false
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove what install made",
		Long: "Stops and disables the service and removes what install made, and nothing else: the\nconfiguration and the state stay. Working agents are not stopped.\n\n" +
			"With --hooks it only takes resumed out of the settings of Claude Code and Codex, and the\nservice stays. With --purge it lists what is left in your home, asks, and removes that too.",
		Example: "  resumed uninstall --dry-run\n  resumed uninstall\n  resumed uninstall --hooks\n  resumed uninstall --purge",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if hooksOnly {
				if purge {
					return usageError{errors.New("--hooks keeps the service, --purge removes everything: give one of them")}
				}
				return c.uninstallHooks(dryRun)
			}
			hooks, err := c.removeHooks(dryRun, false)
			if err != nil {
				return err
			}
			if err := c.uninstall(cmd.Context(), dryRun, hooks); err != nil {
				return err
			}
			if purge {
				return c.purge(cmd.Context(), dryRun, yes)
			}
			if !dryRun {
				c.sayWhatStays()
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&hooksOnly, "hooks", false, "only remove the hooks: the service stays")
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove configuration and state, after asking")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --purge: do not ask")
	return cmd
}

// uninstallHooks takes us out of the settings of agents, and leaves everything else.
func (c *cli) uninstallHooks(dryRun bool) error {
	found, err := c.removeHooks(dryRun, true) // a daemon may run the same copy
	if err == nil && !found {
		fmt.Fprintln(c.out, "No agent calls resumed: there are no hooks to remove.")
	}
	return err
}

// uninstall removes the service; hooks says that something else was removed already.
func (c *cli) uninstall(ctx context.Context, dryRun, hooks bool) error {
	if runtime.GOOS == "darwin" {
		return c.uninstallAgent(ctx, dryRun, hooks)
	}
	dir, err := unitDir()
	if err != nil {
		return err
	}
	files := installed(dir)
	if len(files) == 0 {
		return c.sayNothingIsInstalled(hooks)
	}
	made := madeBefore(files)
	if dryRun {
		fmt.Fprintf(c.out, "systemctl --user disable --now %s\n", unitName)
		for _, f := range files {
			fmt.Fprintln(c.out, "rm", f.path)
		}
		for _, path := range made {
			if isResumed(path) {
				fmt.Fprintln(c.out, "rm", path)
			}
		}
		_, err := fmt.Fprintln(c.out, "# Nothing was done: this was a dry run.")
		return err
	}
	// Without a manager there is nothing to stop: the files can go all the same.
	managed := reachManager(ctx) == nil
	if managed {
		if err := c.systemctl(ctx, "disable", "--now", unitName); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := os.Remove(f.path); err != nil {
			return fmt.Errorf("remove file: %w", err)
		}
		fmt.Fprintln(c.out, "removed", f.path)
	}
	c.removeMade(made)
	if managed {
		return c.systemctl(ctx, "daemon-reload")
	}
	return nil
}

// sayNothingIsInstalled says so, unless there were hooks.
func (c *cli) sayNothingIsInstalled(hooks bool) error {
	if hooks {
		return nil
	}
	_, err := fmt.Fprintln(c.out, "Nothing is installed.")
	return err
}

// sayWhatStays says how the rest is removed, by a command that is still there.
func (c *cli) sayWhatStays() {
	var paths []string
	for _, l := range leftovers(os.Getenv) {
		paths = append(paths, l.path)
	}
	if len(paths) == 0 {
		return
	}
	by := "resumed uninstall --purge"
	if _, err := exec.LookPath("resumed"); err != nil { // its copy may just have been removed
		by = "rm -r " + strings.Join(paths, " ")
	}
	fmt.Fprintln(c.out, "Your settings and the state stay. To remove them too:", by)
}
