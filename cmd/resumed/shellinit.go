//go:build !windows

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/shellinit"
)

// withInit adds the flag --init to the command shell.
func (c *cli) withInit(shell *cobra.Command) *cobra.Command {
	name, names := "", strings.Join(shellinit.Names(), ", ")
	shell.Flags().StringVar(&name, "init", "", "print functions that start your agents like this, for `SHELL`: "+names)
	shell.Example += "\n  eval \"$(resumed shell --init bash)\""
	start := shell.RunE
	shell.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("init") {
			return start(cmd, args)
		}
		found, ok := shellinit.Find(name)
		if !ok || len(args) > 0 {
			return usageError(fmt.Errorf("--init takes one of %s, and nothing else", names))
		}
		return c.show(found.Script(agents.InPath()))
	}
	return shell
}

// offeringShell lets install offer the line that defines these functions.
func (c *cli) offeringShell(install *cobra.Command) *cobra.Command {
	install.Long += "\n\nAt the end it shows a line for your shell (see resumed shell --help), and offers to add it."
	run := install.RunE
	install.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		set := cmd.Flags().Changed
		if err != nil || set("system") || set("dry-run") {
			return err
		}
		return shellinit.Offer(c.out, agents.InPath(), c.agreed)
	}
	return install
}

// forgettingShell lets uninstall take the line out.
func (c *cli) forgettingShell(uninstall *cobra.Command) *cobra.Command {
	run := uninstall.RunE
	uninstall.RunE = func(cmd *cobra.Command, args []string) error {
		if err := run(cmd, args); err != nil || cmd.Flags().Changed("hooks") {
			return err
		}
		return shellinit.Forget(c.out, cmd.Flags().Changed("dry-run"))
	}
	return uninstall
}
