//go:build !windows

package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/hint"
	"resumed/internal/notify"
	"resumed/internal/notify/channels"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
)

func (c *cli) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "notify",
		Short:   "Test how you are notified",
		Example: "  resumed notify test\n  resumed notify test phone",
	}
	cmd.AddCommand(c.jsonFlag(&cobra.Command{
		Use:   "test [NAME]",
		Short: "Send a test notice through every channel, or one",
		Long: "Sends a test notice through every configured channel, or the one with that name, and\n" +
			"prints the answer. It fails if any of them fails. It works without a running daemon.",
		Example: "  resumed notify test\n  resumed notify test phone",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.notifyTest(cmd.Context(), strings.Join(args, ""))
		},
	}))
	return cmd
}

// trial is the result of a test notice on one channel, for programs.
type trial struct {
	Name        string  `json:"name"`
	To          string  `json:"to"`
	Sent        string  `json:"sent"`
	OK          bool    `json:"ok"`
	Answer      string  `json:"answer"`
	Error       *string `json:"error"`
	TookSeconds float64 `json:"took_seconds"`
}

func (c *cli) notifyTest(ctx context.Context, name string) error {
	cfg, path, err := c.load()
	if err != nil {
		return err
	}
	ways, err := channels.Build(path, cfg, nil, nil)
	if err != nil {
		return toMend(err, path)
	}
	var names []string
	for _, ch := range ways {
		names = append(names, ch.Name)
		defer ch.Close()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	results, err := notify.Try(ctx, ways, name, host)
	if err != nil {
		return hint.With(usageError(err), "one of: "+strings.Join(names, ", "))
	}
	failed := false
	trials := make([]trial, 0, len(results))
	for _, r := range results {
		t := trial{Name: r.Channel, To: r.To, Sent: r.Sent, OK: r.Err == nil, Answer: r.Answer, TookSeconds: r.Took.Seconds()}
		if r.Err != nil {
			failed = true
			t.Error = new(r.Err.Error())
		}
		trials = append(trials, t)
	}
	err = c.print(map[string]any{"version": 1, "channels": trials}, func(p *termui.Printer) { printTrials(p, trials) })
	switch {
	case err != nil || !failed:
		return err
	case c.json:
		return errSilent
	default:
		return hint.With(errSilent, otherChannel(path))
	}
}

func otherChannel(path string) string {
	const add = "a channel that works here, such as [[notify.service]] for your phone"
	if path == "" {
		return "resumed config init, then describe in the file that it writes " + add
	}
	return "in " + path + " correct the channel, or add " + add
}

func printTrials(p *termui.Printer, trials []trial) {
	p.Width = 0 // an error that is cut does not help
	for _, t := range trials {
		name := t.Name
		if t.To != "" && t.To != t.Name {
			name += " (" + t.To + ")"
		}
		took := (time.Duration(t.TookSeconds * float64(time.Second))).Round(time.Millisecond)
		if !t.OK {
			p.Line("%s %s: %q did not arrive (after %s): %s", p.Paint.In(termui.Red, "failed"), sanitize.Line(name), sanitize.Line(t.Sent), took, sanitize.Line(*t.Error))
			continue
		}
		answer := ""
		if t.Answer != "" {
			answer = ": " + t.Answer
		}
		p.Line("%s     %s: sent %q, taken after %s%s", p.Paint.In(termui.Green, "ok"), sanitize.Line(name), sanitize.Line(t.Sent), took, sanitize.Line(answer))
	}
}
