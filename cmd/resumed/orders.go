package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
)

func (c *cli) retryCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "retry SESSION",
		Short:   "Resume a session now, attempts forgiven",
		Long:    "Makes an interrupted session due now. What protects a session still does: one that a\nliving process holds, or whose directory is gone, is not resumed.",
		Example: "  resumed retry 4f2a",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.order(cmd, args[0], control.Retry, "due now")
		},
	})
}

func (c *cli) cancelCommand() *cobra.Command {
	stop := false
	cmd := c.jsonFlag(&cobra.Command{
		Use:     "cancel SESSION",
		Short:   "Forget a session's interruption",
		Long:    "Forgets this interruption; a new one counts again. A resume that runs goes on, unless\n--stop is given.",
		Example: "  resumed cancel 4f2a\n  resumed cancel --stop 4f2a",
		RunE: func(cmd *cobra.Command, args []string) error {
			if stop {
				return c.order(cmd, args[0], control.Stop, "cancelled and stopped")
			}
			return c.order(cmd, args[0], control.Cancel, "cancelled")
		},
	})
	cmd.Flags().BoolVar(&stop, "stop", false, "also end the resume that runs")
	return cmd
}

func (c *cli) pauseCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "pause [SESSION]",
		Short:   "Start nothing until unpause",
		Long:    "Nothing is started while paused, for one session or for all; waits go on, and those that\ncame due meanwhile start after unpause. A pause survives a restart.",
		Example: "  resumed pause\n  resumed pause 4f2a",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.setPaused(cmd, args, true) },
	})
}

func (c *cli) unpauseCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "unpause [SESSION]",
		Short:   "End a pause",
		Example: "  resumed unpause\n  resumed unpause 4f2a",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.setPaused(cmd, args, false) },
	})
}

func (c *cli) setPaused(cmd *cobra.Command, args []string, paused bool) error {
	order, done, all := control.Pause, "paused", "Paused: nothing is started until resumed unpause."
	if !paused {
		order, done, all = control.Unpause, "unpaused", "Unpaused: what came due meanwhile starts now."
	}
	if len(args) == 1 {
		return c.order(cmd, args[0], order, done)
	}
	if err := c.client().SetPaused(cmd.Context(), paused); err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(escaping{c.out}).Encode(map[string]any{"version": 1, "paused": paused})
	}
	_, err := fmt.Fprintln(c.out, all)
	return err
}

// order has the daemon do something with a session, and says how the session
// stands then.
func (c *cli) order(cmd *cobra.Command, name string, order control.Order, done string) error {
	after, err := c.client().Do(cmd.Context(), name, order)
	if err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(escaping{c.out}).Encode(struct {
			Version int         `json:"version"`
			Session resume.View `json:"session"`
		}{1, after})
	}
	if order == control.Retry && after.State != resume.Waiting {
		done = "nothing to retry"
		if after.Reason != "" {
			done += ", " + after.Reason
		}
	}
	standing := humanize.Standing(after, time.Now())
	if !strings.HasPrefix(standing, done) { // else it says all of it
		standing = done + "; " + standing
	}
	_, err = fmt.Fprintf(c.out, "%s: %s\n", sanitize.Line(after.Key().String()), standing)
	return err
}
