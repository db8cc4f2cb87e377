//go:build !windows

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/humanize"
	"resumed/internal/usage"
)

// longestStatus limits what is read from an agent, and toldWithin how long its status line waits for
// the daemon: the line is drawn after each answer.
const (
	longestStatus = 1 << 20
	toldWithin    = 500 * time.Millisecond
)

func (c *cli) statuslineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "statusline [-- COMMAND [ARG ...]]",
		Short: "Collect usage numbers from Claude Code's status line",
		Long: "After each answer, Claude Code tells its status line command how much of your allowances\n" +
			"is used. This command passes that to the daemon, for `resumed usage`, and gives the same\n" +
			"input to the status line command that you had. Without one it prints what is used. Your\n" +
			"status line works the same with or without a daemon.\n\n" +
			"In Claude Code's settings.json:\n\n" +
			"  \"statusLine\": {\n    \"type\": \"command\", \"command\": \"resumed statusline -- YOUR COMMAND\"\n  }",
		Example: "  resumed statusline\n  resumed statusline -- ~/.claude/statusline.sh",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			said, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), longestStatus))
			if err != nil {
				return err
			}
			session, readings := agents.StatusLine(said, time.Now())
			var telling sync.WaitGroup
			telling.Go(func() {
				ctx, cancel := context.WithTimeout(cmd.Context(), toldWithin)
				defer cancel()
				if session != "" && len(readings) > 0 {
					_ = c.client().Told(ctx, session, readings) // without a daemon it is dropped
				}
			})
			defer telling.Wait()
			if len(args) > 0 {
				return c.passOn(cmd.Context(), args, said)
			}
			return c.show(usedLine(readings) + "\n")
		},
	}
}

// passOn runs the user's own status line command with the agent's input.
func (c *cli) passOn(ctx context.Context, argv []string, said []byte) error {
	own := exec.CommandContext(ctx, argv[0], argv[1:]...)
	own.Stdin, own.Stdout, own.Stderr = bytes.NewReader(said), c.out, c.err
	err := own.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitStatus{code: exit.ExitCode()}
	}
	return err
}

// usedLine returns the default status line.
func usedLine(readings []usage.Reading) string {
	meters, now := usage.NewMeters(nil), time.Now()
	meters.Add("", now, readings...)
	return humanize.Used(meters.Windows("", now))
}
