package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/execrun"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
	"resumed/internal/usage"
)

func (c *cli) usageCommand() *cobra.Command {
	var room control.QuotaCondition
	wait, timeout := false, time.Duration(0)
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "usage [ACCOUNT]",
		Short: "Show how much of each allowance is used",
		Long: "Shows for each account how much of each usage window is used, how fast, when it will be\n" +
			"used up at this speed, and when it resets. The numbers come from what your agents record;\n" +
			"no provider is asked. Codex records them with each answer, Claude Code when you look at\n" +
			"/usage. The other agents record none.\n\n" +
			"For scripts, --wait returns when the account, or every account, has room: no limit stops it, and less than --below is used of each window. The exit code is 75 if --timeout is over first.",
		Example: "  resumed usage\n  resumed usage --wait --below 80 && ./nightly.sh\n  resumed usage --json | jq '.accounts[].windows[] | {kind, used_percent}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			room.Account = strings.Join(args, "")
			flags := cmd.Flags()
			switch {
			case !wait && (flags.Changed("below") || flags.Changed("timeout")):
				return usageError(errors.New("--below and --timeout have no effect without --wait"))
			case room.Below <= 0 || room.Below > 100:
				return usageError(fmt.Errorf("--below %v: must be more than 0 and at most 100", room.Below))
			}
			if wait {
				err := c.client().Await(cmd.Context(), room, timeout)
				if errors.Is(err, control.ErrNoRoom) {
					err = exitStatus{execrun.CodeGaveUp, err}
				}
				if err != nil || !c.json {
					return err
				}
			}
			status, err := c.client().Status(cmd.Context(), false)
			if err == nil {
				err = room.Check(status)
			}
			if err != nil {
				return err
			}
			used := []accountUsed{}
			for _, a := range status.Accounts {
				if len(a.Windows) > 0 && room.Means(a) {
					used = append(used, accountUsed{a.Name, a.Provider, a.Windows})
				}
			}
			return c.print(map[string]any{"version": 1, "accounts": used}, func(p *termui.Printer) { printUsage(p, used, status.Now) })
		},
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "return when there is room")
	cmd.Flags().Float64Var(&room.Below, "below", 100, "with --wait: less than this `PERCENT` of each window is used")
	durationVar(cmd.Flags(), &timeout, "timeout", "with --wait: the longest `DURATION` to wait (default: no limit)")
	return cmd
}

type accountUsed struct {
	Name     string         `json:"name"`
	Provider string         `json:"provider,omitempty"`
	Windows  []usage.Window `json:"windows"`
}

func printUsage(p *termui.Printer, accounts []accountUsed, now time.Time) {
	if len(accounts) == 0 {
		p.Text("Nothing is known yet. Codex reports its usage with every answer, Claude Code\n" +
			"through resumed statusline or when you open /usage; other agents report none.\n")
		return
	}
	rows := [][]termui.Cell{termui.Row("ACCOUNT", "WINDOW", "USED", "PER HOUR", "FULL", "RESETS")}
	for _, a := range accounts {
		for _, window := range a.Windows {
			pace, full := "-", humanize.Fills(window, now)
			if window.PerHour != nil {
				pace = fmt.Sprintf("%.1f %%", *window.PerHour)
			}
			switch {
			case window.Used >= 100:
				full = "now"
			case full == "" && window.PerHour != nil:
				full = "not before it resets"
			}
			rows = append(rows, termui.Row(sanitize.Line(resume.AccountKey{Name: a.Name, Provider: a.Provider}.String()), humanize.Window(window.Kind),
				humanize.Percent(window.Used), pace, cmp.Or(full, "-"), humanize.Until(window.ResetsAt, now)))
		}
	}
	p.TableOrGroups(rows)
}
