package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/journal"
	"resumed/internal/sanitize"
	"resumed/internal/state"
	"resumed/internal/termui"
)

func (c *cli) historyCommand() *cobra.Command {
	since := ""
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "history [SESSION]",
		Short: "Show what was decided and done, and why",
		Long: "Prints every decision and its reason, newest last, including decisions to do nothing.\n" +
			"It works without a running daemon.",
		Example: "  resumed history\n  resumed history 4f2a --since 12h\n  resumed history --json | jq 'select(.kind == \"gave_up\")'",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := parseSince(since, time.Now())
			if err != nil {
				return usageError(err)
			}
			return c.history(cmd.Context(), strings.Join(args, ""), from)
		},
	})
	cmd.Flags().StringVar(&since, "since", "", "only the last `D`, such as 12h or 7d, or since a time (RFC 3339)")
	return cmd
}

func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := config.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since %q: must be a duration such as 12h or 7d, or a time such as 2026-11-15T15:00:00Z", text)
}

func (c *cli) history(ctx context.Context, name string, since time.Time) error {
	// The steps of a dry run are not part of the history.
	steps, err := control.NewClient(control.DaemonDir(os.Getenv)).History(ctx, name, since)
	if !errors.Is(err, control.ErrNoDaemon) {
		return c.printHistory(steps, err)
	}
	stored := false
	err = withState(func(reader *state.Reader) error {
		stored = true
		known, err := sessionsIn(reader)
		if err != nil {
			return err
		}
		steps, err = journal.History(ctx, reader, name, since, known)
		return c.printHistory(steps, err)
	})
	switch {
	case stored || err != nil:
		return err
	case name != "":
		return hint.With(fmt.Errorf("%q: %w", name, control.ErrNoSession), "resumed history")
	default:
		return c.printHistory(func(func(control.Step, error) bool) {}, nil)
	}
}

// printHistory prints the steps as they arrive: there may be many.
func (c *cli) printHistory(steps iter.Seq2[control.Step, error], err error) error {
	if errors.Is(err, control.ErrNoSession) {
		return hint.With(err, "resumed history, or resumed status --all")
	}
	if err != nil {
		return err
	}
	found := false
	for step, err := range steps {
		if err != nil {
			return err
		}
		found = true
		if err := c.print(step, func(p *termui.Printer) { printStep(p, step) }); err != nil {
			return err
		}
	}
	if !found && !c.json {
		return c.say("Nothing has been decided yet.")
	}
	return nil
}

// printStep prints one line: when, which session, what, why.
func printStep(p *termui.Printer, s control.Step) {
	who := cmp.Or(strings.TrimSpace(cmp.Or(s.Name, s.Session)+" "+s.Project), "resumed") // not shortened: people type it again
	words, colour := stepName(s)
	text := s.Reason
	if s.Outcome != "" && (s.Error == "" || !strings.Contains(s.Reason, s.Error)) {
		ended := "resume " + humanize.Plain(string(s.Outcome))
		if s.Error != "" {
			ended += " (" + s.Error + ")"
		}
		text = ended + ": " + text
	}
	if s.To == "waiting" && !s.NextAt.IsZero() {
		text += "; next at " + humanize.Clock(s.NextAt, s.At.Local())
	}
	p.Table([][]termui.Cell{{
		{Text: s.At.Local().Format(time.DateTime)},
		{Text: fmt.Sprintf("%-18s", sanitize.Line(who))},
		{Text: fmt.Sprintf("%-9s", words), Colour: colour},
		{Text: humanize.ReasonAt(text, s.At.Local())},
	}})
}

func stepName(s control.Step) (string, termui.Colour) {
	colours := map[string]termui.Colour{
		"gave_up": termui.Red, "parked": termui.Red, "waiting": termui.Yellow,
		"resuming": termui.Blue, "settling": termui.Blue, "watching": termui.Green,
	}
	if colour, state := colours[s.Kind]; state {
		return humanize.Plain(s.Kind), colour
	}
	return sanitize.Short(s.Kind, 20), termui.Dim
}
