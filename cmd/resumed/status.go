package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/clean"
	"resumed/internal/control"
	"resumed/internal/resume"
)

func (c *cli) statusCommand() *cobra.Command {
	all := false
	cmd := c.jsonFlag(&cobra.Command{
		Use:     "status [SESSION]",
		Short:   "Show who waits for what",
		Example: "  resumed status\n  resumed status 4f2a\n  resumed status --json | jq '.sessions[] | {id, state}'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			status, err := c.client().Status(cmd.Context(), all || len(args) == 1)
			if err != nil {
				return err
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
				session, err := control.Resolve(status.Sessions, name)
				if err != nil {
					return err
				}
				status.Sessions = []resume.View{session}
			}
			if c.json {
				return json.NewEncoder(c.out).Encode(status)
			}
			return c.printStatus(status, name)
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "also sessions that were never interrupted")
	return cmd
}

// printStatus prints for people: the sessions, or the one that was asked for,
// the accounts, the daemon.
func (c *cli) printStatus(status control.Status, name string) error {
	p := newPage(c.out)
	now := time.Now()
	if name != "" {
		printSession(p, status.Sessions[0], now)
		return p.flush()
	}
	if len(status.Sessions) == 0 {
		p.line("No session is interrupted.")
	} else {
		p.table(sessionTable(p, status.Sessions, now))
	}
	p.line("")
	for _, account := range status.Accounts {
		if account.State == "closed" {
			continue
		}
		until := ""
		if account.ResetAt != nil {
			until = " until " + clock(*account.ResetAt, now)
		}
		p.line("%s is limited%s (%s)", clean.Line(account.Name), until, count(account.Sessions, "session"))
	}
	printDaemon(p, status.Daemon, now)
	return p.flush()
}

func sessionTable(p *page, sessions []resume.View, now time.Time) [][]cell {
	sorted := slices.Clone(sessions)
	slices.SortStableFunc(sorted, byUrgency)
	rows := [][]cell{{head("SESSION"), head("PROJECT"), head("AGENT"), head("STATE"), head("TRY"), head("WHY")}}
	for _, s := range sorted {
		words, colour := stateName(s)
		why := s.Reason
		if when := countdown(s, now); when != "" {
			why = strings.TrimSuffix(when+": "+why, ": ")
		}
		rows = append(rows, []cell{
			plain(control.Short(sessions, s.ID)),
			plain(clean.Short(project(s), 20)),
			plain(clean.Short(s.Agent, 14)),
			{words, colour},
			plain(fmt.Sprintf("%d/%d", s.Attempt, s.MaxRetries)),
			plain(clean.Line(why)),
		})
	}
	return rows
}

// byUrgency puts first what needs a person, then what happens next.
func byUrgency(a, b resume.View) int {
	rank := map[resume.State]int{
		resume.GaveUp: 0, resume.Parked: 1, resume.Resuming: 2, resume.Settling: 3, resume.Waiting: 4, resume.Watching: 5,
	}
	next := func(v resume.View) int64 {
		if v.NextAt == nil {
			return 0
		}
		return v.NextAt.UnixNano()
	}
	return cmp.Or(cmp.Compare(rank[a.State], rank[b.State]), cmp.Compare(next(a), next(b)), cmp.Compare(a.ID, b.ID))
}

func stateName(s resume.View) (string, colour) {
	switch {
	case s.Paused:
		return "paused", dim
	case s.State == resume.GaveUp:
		return "gave up", red
	case s.State == resume.Parked:
		return "parked", red
	case s.State == resume.Waiting:
		return "waiting", yellow
	case s.State == resume.Resuming, s.State == resume.Settling:
		return s.State.String(), blue
	default:
		return s.State.String(), green
	}
}

// stateWords says in one phrase how a session stands.
func stateWords(s resume.View, now time.Time) string {
	words, _ := stateName(s)
	if when := countdown(s, now); when != "" {
		words += ", " + when
	}
	return words
}

// countdown says when a waiting session goes on: "in 1h 47m, 15:00".
func countdown(s resume.View, now time.Time) string {
	if s.State != resume.Waiting || s.NextAt == nil {
		return ""
	}
	left := s.NextAt.Sub(now)
	if left <= 0 {
		return "due now"
	}
	return "in " + span(left) + ", " + clock(*s.NextAt, now)
}

func project(s resume.View) string {
	if s.Cwd == "" {
		return "?"
	}
	return filepath.Base(s.Cwd)
}

func printSession(p *page, s resume.View, now time.Time) {
	words, colour := stateName(s)
	if when := countdown(s, now); when != "" {
		words += ", " + when
	}
	rows := [][]cell{
		{head("session"), plain(clean.Line(s.ID))},
		{head("agent"), plain(clean.Line(s.Agent + " (" + s.Account + ")"))},
		{head("directory"), plain(clean.Line(s.Cwd))},
		{head("transcript"), plain(clean.Line(s.Transcript))},
		{head("state"), {words, colour}},
		{head("why"), plain(clean.Line(s.Reason))},
	}
	if s.State != resume.Watching {
		rows = append(rows, []cell{head("class"), plain(s.Class.String())})
	}
	if s.LimitedAt != nil {
		rows = append(rows, []cell{head("limited at"), plain(clock(*s.LimitedAt, now))})
	}
	if s.ResetAt != nil {
		rows = append(rows, []cell{head("resets at"), plain(clock(*s.ResetAt, now))})
	}
	if s.Owner != nil {
		rows = append(rows, []cell{head("held by"), plain(fmt.Sprintf("pid %d (%s) %s", s.Owner.PID, s.Owner.Kind, s.Owner.Tmux))})
	}
	rows = append(rows, []cell{head("attempts"), plain(fmt.Sprintf("%d of %d", s.Attempt, s.MaxRetries))})
	p.table(rows)
	for _, a := range s.Attempts {
		outcome := cmp.Or(string(a.Outcome), "running")
		p.line("  %d. %s, after %s: %s %s", a.N, clock(*a.StartedAt, now),
			span(time.Duration(a.DelaySeconds*float64(time.Second))), strings.ReplaceAll(outcome, "_", " "), clean.Line(a.Error))
	}
}

func printDaemon(p *page, d control.Daemon, now time.Time) {
	config := cmp.Or(d.Config.Path, "built-in defaults")
	notes := ""
	if d.Paused {
		notes += ", paused"
	}
	if d.DryRun {
		notes += ", dry run"
	}
	p.line("resumed %s, pid %d, up %s%s; configuration: %s", d.Version, d.PID, span(now.Sub(d.StartedAt)), notes, config)
	if d.Config.Error != nil {
		p.line("%s", p.paint(red, "The newest configuration is not in force:"))
		for line := range strings.Lines(*d.Config.Error) {
			p.line("  %s", clean.Line(line))
		}
	}
	printNotices(p, d.Notices)
	for _, problem := range d.Problems {
		p.line("%s", p.paint(red, clean.Line(problem)))
	}
}

// printNotices says what has not reached people; silence is good news.
func printNotices(p *page, n control.Notices) {
	for _, ch := range n.Channels {
		if ch.Pending == 0 && ch.Failed == 0 {
			continue
		}
		why := ""
		if ch.LastError != "" {
			why = ": " + ch.LastError
		}
		p.line("%s", p.paint(yellow, fmt.Sprintf("%s: %s to be delivered, %d failed%s",
			clean.Line(ch.Name), count(ch.Pending, "notice"), ch.Failed, clean.Line(why))))
	}
}
