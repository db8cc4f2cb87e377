//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/logging"
	"resumed/internal/resume"
	"resumed/internal/termui"
)

func (c *cli) statusCommand() *cobra.Command {
	all, watch, fleet := false, false, false
	cmd := c.jsonFlag(&cobra.Command{
		Use:        "status [SESSION]",
		SuggestFor: []string{"list", "ls", "ps", "sessions"},
		Short:      "Show which sessions wait, and for what",
		Long: "Shows the interrupted sessions, those that need you first, then accounts with their limits,\n" +
			"then the daemon. Without a daemon it shows what the last one saved.\n\n" +
			"SESSION is an id, the beginning of an id, the name that status prints, or the last part of\n" +
			"its directory if only one session has that.\n\n" +
			"--watch keeps showing it: as a live view in a terminal, with keys to retry, cancel, pause\n" +
			"and see details; elsewhere as one line for each change.\n\n" +
			"--fleet shows the machines that share an account with this one, and their interrupted\n" +
			"sessions. Use HOST/SESSION to name one of them in retry, cancel, pause and unpause.",
		Example: "  resumed status\n  resumed status --watch\n  resumed status 4f2a\n" +
			"  resumed status --json | jq '.sessions[] | {id, state}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if fleet {
				return c.statusOfFleet(cmd)
			}
			var (
				status control.Status
				only   *resume.Key
				err    error
			)
			if len(args) == 1 {
				status, err = c.client().Session(cmd.Context(), args[0])
			} else {
				status, err = c.client().Status(cmd.Context(), all)
			}
			if errors.Is(err, control.ErrNoDaemon) && !watch {
				return errors.Join(c.leftBehind(all, args), err)
			}
			if err != nil {
				return err
			}
			if len(args) == 1 {
				only = new(status.Sessions[0].Key())
			}
			switch {
			case watch:
				return c.watch(cmd.Context(), all, only)
			case c.json:
				return c.printJSON(status)
			case only != nil:
				return c.show(c.page().Session(status.Sessions[0]))
			default:
				return c.printStatus(status)
			}
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "include sessions that were never interrupted")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep showing it: live in a terminal, elsewhere a line for each change")
	cmd.Flags().BoolVar(&fleet, "fleet", false, "all machines of the fleet, and their interrupted sessions")
	return cmd
}

// watch shows the sessions and their changes until it is stopped: all of them, or only one.
func (c *cli) watch(ctx context.Context, all bool, only *resume.Key) error {
	following := termui.Following{
		Daemon: c.client(), Out: c.out, Err: c.err, Paint: termui.Paint(logging.Colours(c.out)), All: all || only != nil, Only: only,
	}
	switch {
	case c.json:
		lines := json.NewEncoder(logging.Escape(c.out))
		return following.Updates(ctx, func(u control.Update) error { return lines.Encode(u) })
	case logging.IsTerminal(c.out) && os.Getenv("TERM") != "dumb":
		return following.Live(ctx)
	default:
		return following.Lines(ctx)
	}
}

// printStatus prints the sessions, the accounts and the daemon for people.
func (c *cli) printStatus(status control.Status) error {
	return c.show(c.page().Status(status))
}
