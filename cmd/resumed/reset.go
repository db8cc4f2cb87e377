//go:build !windows

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

// retryWithReset uses a banked reset of the session's account, after the user has agreed.
func (c *cli) retryWithReset(cmd *cobra.Command, name string, yes bool) error {
	asked, err := c.client().Do(cmd.Context(), name, control.AskReset)
	switch {
	case err != nil:
		return err
	case asked.Banked == nil || *asked.Banked == 0:
		return errors.New("nothing was done: no reset is in the bank")
	}
	question := fmt.Sprintf("%s. Use one now? [y/N] ", humanize.Banked(asked.Banked))
	if !yes && !c.agreed(question) {
		return hint.With(fmt.Errorf("nothing was done: %s, and nobody agreed to use one", humanize.Banked(asked.Banked)),
			"resumed retry "+sanitize.Line(name)+" --use-reset --yes")
	}
	return c.order(cmd, []string{name}, true, control.UseReset, "a reset was used")
}

// askResets asks for the banked resets of each account that is shown and may have some.
func (c *cli) askResets(cmd *cobra.Command, room control.Room) error {
	status, err := c.client().Status(cmd.Context(), true)
	if err != nil {
		return err
	}
	done := make(map[string]bool)
	for _, s := range status.Sessions {
		account := control.Account{Name: s.Account, Provider: s.Provider}
		if s.Agent != "codex" || s.Provider != "" || done[account.String()] || !room.Means(account) {
			continue
		}
		done[account.String()] = true
		if _, err := c.client().Do(cmd.Context(), s.Key().String(), control.AskReset); err != nil {
			return fmt.Errorf("%s: %w", account, err)
		}
	}
	return nil
}
