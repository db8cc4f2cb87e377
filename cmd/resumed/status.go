package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/commandline"
	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/logging"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/state"
	"resumed/internal/termui"
)

func (c *cli) statusCommand() *cobra.Command {
	all, watch, fleet, state := false, false, false, ""
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "status [SESSION]",
		Short: "Show which sessions wait, and for what",
		Long: "Shows in one line how things are, then the interrupted sessions, those that need you first\n" +
			"and those with the same cause together, then accounts with their limits, then the daemon.\n" +
			"Without a daemon it shows what the last one saved.\n\n" +
			"SESSION is an id, the beginning of an id, the name that status prints, or the last part of\n" +
			"its directory if only one session has that.\n\n" +
			"--watch keeps showing it: as a live view in a terminal, with keys to retry, cancel, pause\n" +
			"and see details; elsewhere as one line for each change.\n\n" +
			"--fleet shows the machines that share an account with this one, and their interrupted\n" +
			"sessions. Use HOST/SESSION to name one of them in retry, cancel and pause.",
		Example: "  resumed status\n  resumed status --watch\n  resumed status 4f2a\n  resumed status --state needs_you\n" +
			"  resumed status --json | jq '.sessions[] | {id, state}'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if fleet {
				return c.statusOfFleet(cmd)
			}
			var (
				status control.Status
				only   *resume.Key
				which  func(view.Session) bool
				err    error
			)
			if state != "" {
				if which, err = termui.ByState(state); err == nil && len(args) == 1 {
					err = errors.New("--state is for lists: leave out the session")
				}
				if err != nil {
					return usageError(err)
				}
			}
			if len(args) == 1 {
				status, err = c.client().Session(cmd.Context(), args[0])
			} else {
				status, err = c.client().Status(cmd.Context(), all)
			}
			if errors.Is(err, control.ErrNoDaemon) && !watch {
				return errors.Join(c.leftBehind(all, args, which), err)
			}
			if err != nil {
				return err
			}
			if len(args) == 1 {
				only = new(status.Sessions[0].Key())
			}
			if which != nil {
				status.Sessions = slices.DeleteFunc(status.Sessions, func(s view.Session) bool { return !which(s) })
			}
			switch {
			case watch:
				return c.watch(cmd.Context(), all, only, which)
			case c.json:
				return c.printJSON(status)
			case only != nil:
				return c.show(c.page().Session(status.Sessions[0]))
			case which != nil && len(status.Sessions) == 0:
				return c.say("No session has the state %s.", state)
			default:
				return c.show(c.page().Status(status))
			}
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "include sessions that were never interrupted")
	cmd.Flags().StringVar(&state, "state", "", "only sessions in this `STATE`, such as needs_you, waiting or gave_up")
	complete(cmd, "state", termui.StateNames()...)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep showing it: live in a terminal, elsewhere a line for each change")
	cmd.Flags().BoolVar(&fleet, "fleet", false, "all machines of the fleet, and their interrupted sessions")
	return cmd
}

// watch shows the sessions and their changes until it is stopped: all of them, or only one.
func (c *cli) watch(ctx context.Context, all bool, only *resume.Key, which func(view.Session) bool) error {
	following := termui.Following{
		Daemon: c.client(), Out: c.out, Err: c.err, Paint: termui.Paint(logging.Colours(c.out)), All: all || only != nil, Only: only, Which: which,
		Run: func(ctx context.Context, args ...string) (string, error) {
			var out bytes.Buffer
			inner := &cli{out: &out, err: &out, configArg: c.configArg}
			_, err := commandline.Execute(ctx, inner.root(), args, &out, &out)
			return out.String(), err
		},
	}
	switch {
	case c.json:
		lines := json.NewEncoder(logging.Escape(c.out))
		return following.Updates(ctx, func(u control.Update) error { return lines.Encode(u) })
	case logging.IsTerminal(c.out) && os.Getenv("TERM") != "dumb":
		return following.Live(ctx)
	default:
		return following.Lines(ctx)
	}
}

// withState calls read with the stored state of a daemon, if there is one.
func withState(read func(*state.Reader) error) error {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	reader, err := state.OpenReader(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	return read(reader)
}

func storedSessions() (known []view.Session, err error) {
	err = withState(func(reader *state.Reader) error {
		known, err = sessionsIn(reader)
		return err
	})
	return known, err
}

func sessionsIn(reader *state.Reader) ([]view.Session, error) {
	sessions, err := reader.Sessions()
	var views []view.Session
	for _, s := range sessions {
		if !s.IsPlaceholder() { // else it is a task
			views = append(views, view.Of(s, 0)) // the number of tries is not needed
		}
	}
	return views, err
}

// leftBehind prints the sessions as the last daemon stored them, if there are any.
func (c *cli) leftBehind(all bool, args []string, which func(view.Session) bool) error {
	dir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	written := state.LastWritten(dir) // before it is opened
	known, err := storedSessions()
	if err != nil {
		return err
	}
	cfg, _, configErr := c.load()
	rules := cfg.Rules()
	sessions := []view.Session{}
	for _, v := range known {
		if configErr == nil { // without a configuration its policy is unknown
			policy := rules.PolicyFor(v.Agent, v.Class)
			v.Policy, v.MaxRetries = policy.Name, policy.MaxRetries
		}
		v.Remedy = agents.Remedy(v)
		if (all || len(args) == 1 || v.Interrupted()) && (which == nil || which(v)) {
			sessions = append(sessions, v)
		}
	}
	if len(args) == 1 {
		session, err := view.Find(sessions, args[0])
		if err != nil {
			return nil // only "no daemon" can be reported
		}
		sessions = []view.Session{session}
	}
	switch {
	case c.json:
		return c.printJSON(map[string]any{
			"version": 1, "now": time.Now().UTC(), "daemon": nil, "accounts": []any{}, "sessions": sessions,
		})
	case len(sessions) == 0:
		return nil
	}
	page := c.page()
	text := page.Sessions(sessions)
	if len(args) == 1 {
		text = page.Session(sessions[0])
	}
	return c.show(fmt.Sprintf("This is what the last daemon saved at %s:\n\n%s\n", humanize.Clock(written, page.Now), text))
}
