//go:build !windows

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/service"
	"resumed/internal/shellinit"
)

func (c *cli) installer() service.Installer {
	return service.Installer{
		Out: c.out, Err: c.err, Version: version(), ConfigPath: c.configArg,
		Config: func() (config.Config, error) {
			cfg, _, err := c.load()
			return cfg, err
		},
		Status: c.client().Status,
		Ask:    c.agreed,
	}
}

func (c *cli) installCommand() *cobra.Command {
	dryRun, system := false, false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Run the daemon as your own service",
		Long: "Writes a systemd user unit (on macOS a launchd agent) that runs this program with your\n" +
			"current PATH, so that it finds your agents, then enables and starts it. Run it again to\n" +
			"update the service. A program in a temporary directory is first copied to ~/.local/bin.\n\n" +
			"At the end it prints how to add the plugin to the agents you have: with it, they tell the\n" +
			"daemon at once when a session starts, stops or asks for a permission (docs/plugin.md).\n\n" +
			"At the end it shows a line for your shell (see resumed shell --help), and offers to add it.",
		Example: "  resumed install --dry-run\n  resumed install\n  resumed install --system | sudo sh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if system {
				return c.installer().PrintSystem()
			}
			if err := c.installer().Install(cmd.Context(), dryRun); err != nil || dryRun {
				return err
			}
			return shellinit.Offer(c.out, agents.InPath(), c.agreed)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&system, "system", false, "print how to run it as resumed@USER.service")
	return cmd
}

func (c *cli) uninstallCommand() *cobra.Command {
	dryRun, purge, yes, hooksOnly := false, false, false, false
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove what install made",
		Long: "Stops and disables the service and removes what install made, and nothing else: the\nconfiguration and the state stay. Working agents are not stopped.\n\n" +
			"With --hooks it only takes the hooks of an earlier release out of the settings of Claude Code\nand Codex, and the service stays. Plugins are removed in the agents themselves. With --purge it lists what is left in your home, asks, and removes that too.",
		Example: "  resumed uninstall --dry-run\n  resumed uninstall\n  resumed uninstall --hooks\n  resumed uninstall --purge",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case hooksOnly && purge:
				return usageError(errors.New("--hooks keeps the service, --purge removes everything: give one of them"))
			case hooksOnly:
				return c.installer().UninstallHooks(dryRun)
			}
			if err := c.installer().Uninstall(cmd.Context(), dryRun, purge, yes); err != nil {
				return err
			}
			return shellinit.Forget(c.out, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&hooksOnly, "hooks", false, "only remove hooks that an earlier release installed")
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove configuration and state, after asking")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --purge: do not ask")
	return cmd
}
