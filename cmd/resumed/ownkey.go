//go:build !windows

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// retryWithOwnKey continues a session at the user's own cost, after they have seen the cost.
func (c *cli) retryWithOwnKey(cmd *cobra.Command, name string, yes bool) error {
	asked, err := c.client().Do(cmd.Context(), name, control.AskOwnKey)
	if err != nil {
		return err
	}
	offer := asked.OwnKey
	if offer != nil && !offer.Active && !c.json {
		c.showOffer(*offer)
	}
	if (offer == nil || !offer.Active) && !yes && !c.agreed("Continue it at your own cost? [y/N] ") {
		return hint.With(errors.New("nothing was done: it would cost money, and nobody agreed"), "resumed retry "+sanitize.Line(name)+" --own-key --yes")
	}
	return c.order(cmd, []string{name}, true, control.OwnKey, "due now with your own key")
}

func (c *cli) showOffer(offer view.OwnKey) {
	row := func(label, text string) { fmt.Fprintf(c.out, "%-12s%s\n", label, text) }
	if offer.Until != nil {
		row("until", humanize.Clock(*offer.Until, time.Now())+", when its limit is over")
	}
	if offer.Cost != nil {
		row("so far", fmt.Sprintf("%.2f USD at API prices, by the agent's own count (your subscription covered that)", *offer.Cost))
	}
	row("costs", humanize.Estimate(&offer))
	row("at most", fmt.Sprintf("%.2f USD (budget: %s)", offer.Left, sanitize.Line(offer.Budget)))
}
