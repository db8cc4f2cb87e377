package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/resume"
	"resumed/internal/termui"
)

func (c *cli) statusCommand() *cobra.Command {
	all, watch := false, false
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "status [SESSION]",
		Short: "Show who waits for what",
		Long: "Shows the interrupted sessions, what needs you first; the accounts and their limits; the\n" +
			"daemon. Without a daemon it shows what the last one left.\n\n" +
			"SESSION is an id or as much of its beginning as no other has, the name that\n" +
			"status prints, or the last part of its directory where that is unique.\n\n" +
			"--watch goes on showing it: a live view on a terminal, where keys retry, cancel, pause and\n" +
			"open details, and elsewhere a line whenever something changes.",
		Example: "  resumed status\n  resumed status --watch\n  resumed status 4f2a\n" +
			"  resumed status --json | jq '.sessions[] | {id, state}'",
		RunE: func(cmd *cobra.Command, args []string) error {
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
				return json.NewEncoder(escaping{c.out}).Encode(status)
			case only != nil:
				return c.show(newPage(c.out).view().Session(status.Sessions[0]))
			default:
				return c.printStatus(status)
			}
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "also sessions that were never interrupted")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it: live on a terminal, elsewhere a line a change")
	return cmd
}

// watch goes on showing how the sessions stand: all of them, or only one.
func (c *cli) watch(ctx context.Context, all bool, only *resume.Key) error {
	following := termui.Following{
		Daemon: c.client(), Out: c.out, Err: c.err, Paint: termui.Paint(colours(c.out)), All: all || only != nil, Only: only,
	}
	switch {
	case c.json:
		lines := json.NewEncoder(escaping{c.out})
		return following.Updates(ctx, func(u control.Update) error { return lines.Encode(u) })
	case isTerminal(c.out) && os.Getenv("TERM") != "dumb":
		return following.Live(ctx)
	default:
		return following.Lines(ctx)
	}
}

// printStatus prints for people: the sessions, the accounts, the daemon.
func (c *cli) printStatus(status control.Status) error {
	return c.show(newPage(c.out).view().Status(status))
}

func (c *cli) show(text string) error {
	_, err := io.WriteString(c.out, text)
	return err
}
