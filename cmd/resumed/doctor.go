//go:build !windows

package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"resumed/internal/humanize"
	"resumed/internal/logging"
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

// notInstalled is said of an agent that is not here.
const notInstalled = "not installed"

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
		err = json.NewEncoder(logging.Escape(c.out)).Encode(map[string]any{"version": 1, "ok": failed == 0, "checks": e.checks, "kept": e.kept})
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
	width := p.width
	p.width = 0 // a command that is cut mends nothing: it is wrapped
	colours := map[verdict]colour{checkOK: green, checkWarn: yellow, checkFail: red}
	checks := foldAbsent(e.checks)
	names := 0
	for _, check := range checks {
		names = max(names, ansi.StringWidth(sanitize.Line(check.Name)))
	}
	room := 0 // for what is said; 0: any
	if width > 0 {
		room = max(width-len("warn  ")-names-2, 30)
	}
	var rows [][]cell
	for _, check := range checks {
		status, name := cell{string(check.Status), colours[check.Status]}, sanitize.Line(check.Name)
		for _, line := range wrapWords(sanitize.Line(check.Text), room) {
			rows = append(rows, []cell{status, plain(name), plain(line)})
			status, name = plain(""), ""
		}
		arrow := "→ "
		for _, line := range wrapWords(sanitize.Line(check.Fix), room-2) {
			rows = append(rows, []cell{plain(""), plain(""), {arrow + line, bold}})
			arrow = "  "
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

// foldAbsent says in one line which agents are not installed: most people have one or two.
func foldAbsent(checks []check) []check {
	var names []string
	absent := func(c check) bool { return c.Text == notInstalled && strings.HasPrefix(c.Name, "agent ") }
	for _, c := range checks {
		if absent(c) {
			names = append(names, strings.TrimPrefix(c.Name, "agent "))
		}
	}
	if len(names) < 2 {
		return checks
	}
	var folded []check
	for _, c := range checks {
		switch {
		case !absent(c):
			folded = append(folded, c)
		case strings.HasSuffix(c.Name, " "+names[len(names)-1]): // after those that are here
			folded = append(folded, check{Name: "other agents", Status: checkOK, Text: notInstalled + ": " + strings.Join(names, ", ")})
		}
	}
	return folded
}

// wrapWords breaks a text between its words into lines of so many columns; 0 or less: one line.
func wrapWords(text string, room int) []string {
	if room <= 0 && text != "" {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) > room {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
