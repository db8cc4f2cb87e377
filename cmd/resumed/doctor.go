//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/humanize"
	"resumed/internal/sanitize"
)

// verdict is how a check ended.
type verdict string

// The verdicts.
const (
	checkOK   verdict = "ok"
	checkWarn verdict = "warn" // something works less well than it could
	checkFail verdict = "fail" // something does not work
)

// check is one thing that was looked at.
type check struct {
	Name   string  `json:"name"`
	Status verdict `json:"status"`
	Text   string  `json:"text"`
	Fix    string  `json:"fix,omitempty"` // the command that mends it
}

// examination gathers checks.
type examination struct {
	checks []check
	kept   []kept // what a daemon keeps, how much and where
}

func (e *examination) ok(name, text string)        { e.add(name, checkOK, text, "") }
func (e *examination) warn(name, text, fix string) { e.add(name, checkWarn, text, fix) }
func (e *examination) fail(name, text, fix string) { e.add(name, checkFail, text, fix) }

func (e *examination) add(name string, v verdict, text, fix string) {
	e.checks = append(e.checks, check{name, v, sanitize.Short(text, 400), fix})
}

func (e *examination) count(v verdict) int {
	n := 0
	for _, c := range e.checks {
		if c.Status == v {
			n++
		}
	}
	return n
}

// doctorLimit bounds the whole examination.
const doctorLimit = 30 * time.Second

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
	ctx, cancel := context.WithTimeoutCause(ctx, doctorLimit, errors.New("it took too long"))
	defer cancel()
	var e examination
	cfg, readable := c.examineConfig(&e)
	if readable {
		examineAgents(ctx, &e, cfg)
	}
	examineHooks(&e)
	examineState(&e)
	examineKept(ctx, &e, cfg, readable)
	c.examineDaemon(ctx, &e, cfg.Resume.Trust())
	examineFleet(ctx, &e, cfg.Fleet)
	examineTmux(ctx, &e)
	examineKitty(ctx, &e)
	examineDesktop(ctx, &e, cfg)
	examineSystemd(ctx, &e)
	examineClock(&e, time.Now())

	failed := e.count(checkFail)
	var err error
	if c.json {
		err = json.NewEncoder(escaping{c.out}).Encode(map[string]any{"version": 1, "ok": failed == 0, "checks": e.checks, "kept": e.kept})
	} else {
		err = c.printChecks(e)
	}
	if err == nil && failed > 0 {
		err = errSilent
	}
	return err
}

func (c *cli) printChecks(e examination) error {
	p := newPage(c.out)
	p.width = 0 // a command that is cut mends nothing
	colours := map[verdict]colour{checkOK: green, checkWarn: yellow, checkFail: red}
	var rows [][]cell
	for _, check := range e.checks {
		rows = append(rows, []cell{{string(check.Status), colours[check.Status]}, plain(sanitize.Line(check.Name)), plain(sanitize.Line(check.Text))})
		if check.Fix != "" {
			rows = append(rows, []cell{plain(""), plain(""), {"→ " + sanitize.Line(check.Fix), bold}})
		}
	}
	p.table(rows)
	p.line("")
	switch failed, warned := e.count(checkFail), e.count(checkWarn); {
	case failed > 0:
		p.line("%s, %s.", p.paint(red, humanize.Count(failed, "check")+" failed"), humanize.Count(warned, "warning"))
	case warned > 0:
		p.line("It works, with %s.", humanize.Count(warned, "warning"))
	default:
		p.line("All is well.")
	}
	return p.flush()
}
