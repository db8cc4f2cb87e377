//go:build !windows

package main

import (
	"context"
	"os"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/doctor"
	"resumed/internal/fleet/member"
	"resumed/internal/humanize"
	"resumed/internal/notify/channels"
	"resumed/internal/sanitize"
	"resumed/internal/service"
	"resumed/internal/termui"
)

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
		Version: version(), ConfigPath: path, Config: cfg, ConfigErr: err, Host: member.HostName(cfg.Fleet),
		RecordedPath: service.RecordedPath(), SocketDir: control.SocketDir(os.Getenv), Status: c.client().Status,
		Hooks:   func(r *doctor.Report) { service.ExamineOldHooks(r) },
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
	width := p.Width
	p.Width = 0 // the fix is wrapped: a cut command is useless
	colours := map[doctor.Verdict]termui.Colour{doctor.OK: termui.Green, doctor.Warn: termui.Yellow, doctor.Fail: termui.Red}
	checks := report.ForPeople()
	names := 0
	for _, check := range checks {
		names = max(names, ansi.StringWidth(sanitize.Line(check.Name)))
	}
	room := 0 // width of the text; 0: any
	if width > 0 {
		room = max(width-len("warn  ")-names-2, 30)
	}
	var rows [][]termui.Cell
	for _, check := range checks {
		status, name := termui.Cell{Text: string(check.Status), Colour: colours[check.Status]}, sanitize.Line(check.Name)
		for _, line := range termui.Words(sanitize.Line(check.Text), room) {
			rows = append(rows, append([]termui.Cell{status}, termui.Row(name, line)...))
			status, name = termui.Cell{}, ""
		}
		arrow := "→ "
		for _, line := range termui.Words(sanitize.Line(check.Fix), room-2) {
			rows = append(rows, []termui.Cell{{}, {}, {Text: arrow + line, Colour: termui.Bold}})
			arrow = "  "
		}
	}
	switch failed, warned := report.Count(doctor.Fail), report.Count(doctor.Warn); {
	case failed > 0:
		p.Line("%s, %s.", p.Paint.In(termui.Red, humanize.Count(failed, "check")+" failed"), humanize.Count(warned, "warning"))
	case warned > 0:
		p.Line("It works, with %s.", humanize.Count(warned, "warning"))
	default:
		p.Line("All is well.")
	}
	p.Line("")
	p.Table(rows)
}
