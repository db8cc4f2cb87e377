//go:build !windows

package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
)

func (c *cli) retryCommand() *cobra.Command {
	ownKey, yes, unseen := false, false, false
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "retry [SESSION]",
		Short: "Resume a session now, with all tries available again",
		Long: "Resumes an interrupted session without waiting. Safety checks still apply: a session that is\nopen in a running process, or whose directory is gone, is not resumed.\n\n" +
			"A session whose start was not seen is not resumed without your word, because its flags and\nvariables are not known: retry is that word. The session continues with your settings as they\nare now, after its limit is over. With --unseen you give it to all sessions that wait for it.\n\n" +
			"With --own-key a session that a usage limit stopped continues with your own API key, at your\ncost, until that limit is over. It shows an estimate and asks first. This needs own_key_file and\nbudget in [[agent]], and works for sessions of this machine only.",
		Example: "  resumed retry 4f2a\n  resumed retry 4f2a --own-key\n  resumed retry --unseen",
		RunE: func(cmd *cobra.Command, args []string) error {
			if unseen && len(args) == 0 {
				return c.retryUnseen(cmd)
			}
			if unseen || len(args) == 0 {
				return usageError(errors.New("retry needs a session, or --unseen"))
			}
			if ownKey {
				return c.retryWithOwnKey(cmd, args[0], yes)
			}
			return c.order(cmd, args[0], control.Retry, "due now")
		},
	})
	cmd.Flags().BoolVar(&ownKey, "own-key", false, "with your own API key, at your cost, until the limit is over")
	cmd.Flags().BoolVar(&unseen, "unseen", false, "all sessions that wait for your word because their start was not seen")
	cmd.MarkFlagsMutuallyExclusive("unseen", "own-key")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --own-key: do not ask")
	return cmd
}

// retryUnseen allows all sessions whose start was not seen to continue.
func (c *cli) retryUnseen(cmd *cobra.Command) error {
	client := c.client()
	status, err := client.Status(cmd.Context(), false)
	if err != nil {
		return err
	}
	after := []view.Session{}
	for _, s := range view.WithoutStart(status.Sessions) {
		now, err := client.Do(cmd.Context(), s.Key().String(), control.Retry)
		if err != nil {
			return err
		}
		after = append(after, now)
	}
	if c.json {
		return c.printJSON(struct {
			Version  int            `json:"version"`
			Sessions []view.Session `json:"sessions"`
		}{1, after})
	}
	if len(after) == 0 {
		return c.say("No session waits for your word.")
	}
	for _, s := range after {
		if err := c.say("%s: %s", sanitize.Line(s.Key().String()), humanize.StatePhrase(s, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) cancelCommand() *cobra.Command {
	stop := false
	cmd := c.jsonFlag(&cobra.Command{
		Use:     "cancel SESSION",
		Short:   "Do not continue a session after this limit",
		Long:    "Leaves the session alone until its next limit. A resume that is running goes on, unless you\nadd --stop.",
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
		Short:   "Start nothing until you unpause",
		Long:    "While paused, nothing is started, for one session or for all. Waits continue; sessions whose\nwait ended meanwhile start after unpause. A pause survives a restart.",
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
		order, done, all = control.Unpause, "unpaused", "Unpaused: sessions whose wait is over start now."
	}
	if len(args) == 1 {
		return c.order(cmd, args[0], order, done)
	}
	if err := c.client().SetPaused(cmd.Context(), paused); err != nil {
		return err
	}
	return c.print(map[string]any{"version": 1, "paused": paused}, func(p *termui.Printer) { p.Text(all + "\n") })
}

// order makes the daemon do something with a session, and prints the session's state after it.
func (c *cli) order(cmd *cobra.Command, name string, order control.Order, done string) error {
	after, err := c.client().Do(cmd.Context(), name, order)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(struct {
			Version int          `json:"version"`
			Session view.Session `json:"session"`
		}{1, after})
	}
	if order == control.Retry && after.State != resume.Waiting {
		done = "nothing to retry: " + notStopped(after)
	}
	phrase := humanize.StatePhrase(after, time.Now())
	switch {
	case strings.HasPrefix(phrase, done): // it says everything already
	case strings.HasSuffix(phrase, done):
		phrase = done
	default:
		phrase = done + "; " + phrase
	}
	return c.say("%s: %s", sanitize.Line(after.Key().String()), phrase)
}

// notStopped returns why a session cannot be retried.
func notStopped(s view.Session) string {
	reason := humanize.ReasonAt(s.Reason, time.Now())
	switch {
	case s.State == resume.Resuming || s.State == resume.Settling:
		return "it is being resumed already"
	case s.State == resume.Watching && (reason == "" || strings.HasPrefix(reason, resume.WorksAgain) || strings.HasPrefix(reason, resume.WentOn)):
		return "it is not stopped"
	default:
		return reason
	}
}
