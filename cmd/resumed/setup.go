package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/doctor"
	"resumed/internal/fleet/member"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/notify"
	"resumed/internal/notify/channels"
	"resumed/internal/sanitize"
	"resumed/internal/service"
	"resumed/internal/shellinit"
	"resumed/internal/termui"
)

func (c *cli) installer() service.Installer {
	return service.Installer{
		Out: c.out, Err: c.err, Version: version(), ConfigPath: c.configArg,
		Config: func() (config.Config, error) {
			cfg, _, err := c.load()
			return cfg, err
		},
		Status: c.client().Status,
		Ask:    c.agreed,
	}
}

func (c *cli) installCommand() *cobra.Command {
	dryRun, system := false, false
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Run the daemon as your own service",
		Long: "Writes a systemd user unit (on macOS a launchd agent) that runs this program with your\n" +
			"current PATH, so that it finds your agents, then enables and starts it. Run it again to\n" +
			"update the service. A program in a temporary directory is first copied to ~/.local/bin.\n\n" +
			"At the end it prints how to add the plugin to the agents you have: with it, they tell the\n" +
			"daemon at once when a session starts, stops or asks for a permission (docs/plugin.md).\n\n" +
			"At the end it shows a line for your shell (see resumed shell --help), and offers to add it.",
		Example: "  resumed install --dry-run\n  resumed install\n  resumed install --system | sudo sh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if system {
				return c.installer().PrintSystem()
			}
			if err := c.installer().Install(cmd.Context(), dryRun); err != nil || dryRun {
				return err
			}
			return shellinit.Offer(c.out, agents.InPath(), c.agreed)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&system, "system", false, "print how to run it as resumed@USER.service")
	return cmd
}

func (c *cli) uninstallCommand() *cobra.Command {
	dryRun, purge, yes := false, false, false
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service and remove what install made",
		Long: "Stops and disables the service and removes what install made, and nothing else: the\nconfiguration and the state stay. Working agents are not stopped.\n\n" +
			"Plugins are removed in the agents themselves. With --purge it lists what is left in your\nhome, asks, and removes that too.",
		Example: "  resumed uninstall --dry-run\n  resumed uninstall\n  resumed uninstall --purge",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.installer().Uninstall(cmd.Context(), dryRun, purge, yes); err != nil {
				return err
			}
			return shellinit.Forget(c.out, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done")
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove configuration and state, after asking")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --purge: do not ask")
	return cmd
}

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
	var rows [][]termui.Cell
	for _, t := range trials {
		name := t.Name
		if t.To != "" && t.To != t.Name {
			name += " (" + t.To + ")"
		}
		took := (time.Duration(t.TookSeconds * float64(time.Second))).Round(time.Millisecond)
		status, text := termui.Cell{Text: "ok", Colour: termui.Green}, fmt.Sprintf("%s: sent %q, taken after %s", name, t.Sent, took)
		switch {
		case !t.OK:
			status, text = termui.Cell{Text: "failed", Colour: termui.Red}, fmt.Sprintf("%s: %q did not arrive (after %s): %s", name, t.Sent, took, *t.Error)
		case t.Answer != "":
			text += ": " + t.Answer
		}
		rows = append(rows, append([]termui.Cell{status}, termui.Row(sanitize.Line(text))...))
	}
	p.Table(rows)
}

func (c *cli) doctorCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:   "doctor",
		Short: "Check your setup and say how to fix problems",
		Long: "Checks agents, their transcripts, kernel limits, the fleet, terminals, the desktop, systemd, the\n" +
			"clock, files and the daemon, and says how to fix what is wrong. It fails if something does not\n" +
			"work; warnings do not make it fail.",
		Example: "  resumed doctor\n  resumed doctor --json | jq '.checks[] | select(.status != \"ok\")'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.doctor(cmd.Context()) },
	})
}

func (c *cli) doctor(ctx context.Context) error {
	cfg, path, err := c.load()
	if err == nil {
		_, err = channels.Build(path, cfg, nil, nil)
	}
	report := doctor.Examine(ctx, doctor.Input{
		Version: version(), ConfigPath: path, Config: cfg, ConfigErr: err, ConfigFix: hint.Of(err), Host: member.HostName(cfg.Fleet),
		RecordedPath: service.RecordedPath(), SocketDir: control.SocketDir(os.Getenv), Status: c.client().Status,
		Service: func(ctx context.Context, r *doctor.Report) { service.Examine(ctx, r) },
	})
	failed := report.Count(doctor.Fail)
	err = c.print(map[string]any{"version": 1, "ok": failed == 0, "checks": report.Checks, "kept": report.Stored},
		func(p *termui.Printer) { printChecks(p, report) })
	if err == nil && failed > 0 {
		err = errSilent
	}
	return err
}

func printChecks(p *termui.Printer, report *doctor.Report) {
	colours := map[doctor.Verdict]termui.Colour{doctor.OK: termui.Green, doctor.Warn: termui.Yellow, doctor.Fail: termui.Red}
	var rows [][]termui.Cell
	for _, check := range report.ForPeople() {
		status := termui.Cell{Text: string(check.Status), Colour: colours[check.Status]}
		rows = append(rows, append([]termui.Cell{status}, termui.Row(sanitize.Line(check.Name), sanitize.Line(check.Text))...))
		if check.Fix != "" {
			rows = append(rows, []termui.Cell{{}, {}, {Text: "→ " + sanitize.Line(check.Fix), Colour: termui.Bold}})
		}
	}
	toStart := report.ToStart()
	switch failed, warned := report.Count(doctor.Fail), report.Count(doctor.Warn); {
	case failed > 0:
		p.Lines(p.Paint.In(termui.Red, humanize.Count(failed, "check")+" failed")+", "+humanize.Count(warned, "warning")+".", "")
	case len(toStart) > 0:
		p.Lines("It does not run yet: "+strings.Join(toStart, "; then ")+".", "")
	case warned > 0:
		p.Lines("It works, with "+humanize.Count(warned, "warning")+".", "")
	default:
		p.Lines("All is well.", "")
	}
	p.Table(rows)
}
