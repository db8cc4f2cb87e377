//go:build !windows

package main

import (
	"github.com/spf13/cobra"

	"resumed/internal/runner"
)

// keepCommand runs a command and stores its exit status where there is no shell to do that.
func (c *cli) keepCommand() *cobra.Command {
	return &cobra.Command{
		Use:                runner.KeepCommand + " STATUS PROGRAM [ARG…]",
		Hidden:             true,
		Args:               cobra.MinimumNArgs(2),
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := runner.Keep(args[0], args[1:]); code != 0 {
				return exitStatus{code: code}
			}
			return nil
		},
	}
}
