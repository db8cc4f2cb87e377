//go:build !windows

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"resumed/internal/demo"
)

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See in ten seconds what happens after a limit",
		Long: "Runs the real daemon in a temporary directory with pretend agents: one hits a limit and\n" +
			"continues, one never recovers, and one was stopped before and waits for your word. It\n" +
			"installs nothing and leaves nothing behind.",
		Example: "  resumed demo",
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo.Run(cmd.Context(), c.out, c.page(), version()) },
	}
}

func (c *cli) demoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:                demo.AgentCommand + " NAME SESSION PROMPT",
		Hidden:             true,
		Args:               cobra.ArbitraryArgs, // also the flags of the agent that it stands in for
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			err := demo.Agent(args[0], args[1])
			if errors.Is(err, demo.ErrLimited) {
				return errSilent
			}
			return err
		},
	}
}
