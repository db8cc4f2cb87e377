package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
)

// chosen are the sessions that a command is about.
type chosen struct {
	names  []string
	all    bool
	class  string
	unseen bool
	ask    bool // on a terminal, before an order for several
}

// flags adds the flags that choose sessions; all says what --all means.
func (ch *chosen) flags(cmd *cobra.Command, all string) {
	cmd.Flags().BoolVar(&ch.all, "all", false, all)
	stops := slices.DeleteFunc(classNames(), func(name string) bool { return name == limit.None.String() })
	cmd.Flags().Func("class", "all sessions that a limit of this `CLASS` stopped, such as auth", func(name string) error {
		if ch.class = name; !slices.Contains(stops, name) { // an empty one is no class, and not all of them
			return errors.New("must be one of " + strings.Join(stops, ", "))
		}
		return nil
	})
	complete(cmd, "class", stops...)
	cmd.MarkFlagsMutuallyExclusive("all", "class")
}

func (c *cli) retryCommand() *cobra.Command {
	var ch chosen
	now := false
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "retry [SESSION…]",
		Short: "Resume sessions now, with all tries available again",
		Long: "Resumes interrupted sessions without waiting. Safety checks still apply: a session that is open in a running process, or whose directory is gone, is not resumed. If the provider named a time and that is not over, retry asks first, or needs --now.\n\n" +
			"A session whose start was not seen is not resumed without your word, because its flags and variables are not known: retry is that word. The session continues with your settings as they are now, after its limit is over. With --unseen you give it to all sessions that wait for it.",
		Example: "  resumed retry 4f2a\n  resumed retry 4f2a b17c --now\n  resumed retry --class auth\n  resumed retry --unseen",
		RunE: func(cmd *cobra.Command, args []string) error {
			ch.names = args
			if now {
				return c.orderChosen(cmd, ch, "--all, --class or --unseen", control.Retry, "due now")
			}
			return c.orderChosen(cmd, ch, "--all, --class or --unseen", control.Due, "due now")
		},
	})
	ch.flags(cmd, "all sessions that are stopped")
	cmd.Flags().BoolVar(&ch.unseen, "unseen", false, "all sessions that wait for your word because their start was not seen")
	cmd.Flags().BoolVar(&now, "now", false, "also before the time that the provider named")
	cmd.MarkFlagsMutuallyExclusive("all", "class", "unseen")
	return cmd
}

func (c *cli) cancelCommand() *cobra.Command {
	var ch chosen
	stop, yes := false, false
	cmd := c.jsonFlag(&cobra.Command{
		Use:     "cancel [SESSION…]",
		Short:   "Do not continue sessions after this limit",
		Long:    "Leaves sessions alone until their next limit. A resume that is running goes on, unless you add --stop. On a terminal it asks before it cancels several sessions.\n\nUntil a session works again or meets its next limit, resumed retry SESSION undoes this.",
		Example: "  resumed cancel 4f2a\n  resumed cancel --stop 4f2a\n  resumed cancel --class auth\n  resumed cancel --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			ch.names, ch.ask = args, !yes
			if stop {
				return c.orderChosen(cmd, ch, "--all or --class", control.Stop, "cancelled and stopped")
			}
			return c.orderChosen(cmd, ch, "--all or --class", control.Cancel, "cancelled")
		},
	})
	ch.flags(cmd, "all sessions that are stopped")
	cmd.Flags().BoolVar(&stop, "stop", false, "also end the resume that runs")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask, also for several sessions")
	return cmd
}

func (c *cli) pauseCommand() *cobra.Command {
	return c.pausing(true, &cobra.Command{
		Use:     "pause [SESSION…]",
		Short:   "Start nothing until you unpause",
		Long:    "While paused, nothing is started, for these sessions or for all. Waits continue; sessions whose wait ended meanwhile start after unpause. A pause survives a restart.",
		Example: "  resumed pause\n  resumed pause 4f2a b17c\n  resumed pause --class usage_limit",
	})
}

func (c *cli) unpauseCommand() *cobra.Command {
	return c.pausing(false, &cobra.Command{
		Use:     "unpause [SESSION…]",
		Short:   "End a pause",
		Long:    "Ends the pause of these sessions, or the one for everything. A session that you paused by its name or class stays paused then, unless you add --all.",
		Example: "  resumed unpause\n  resumed unpause 4f2a b17c\n  resumed unpause --all",
	})
}

func (c *cli) pausing(paused bool, cmd *cobra.Command) *cobra.Command {
	var ch chosen
	order, done, means := control.Pause, "paused", "everything, as without a session"
	if !paused {
		order, done, means = control.Unpause, "unpaused", "everything, also what was paused by name or class"
	}
	ch.flags(cmd, means)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ch.names = args
		if len(args) > 0 || ch.class != "" {
			return c.orderChosen(cmd, ch, "--all or --class", order, done)
		}
		before, err := c.client().Status(cmd.Context(), false)
		if err != nil {
			return err
		}
		if err := c.client().SetPaused(cmd.Context(), paused); err != nil {
			return err
		}
		if paused {
			said := pausedWords(before)
			return c.print(map[string]any{"version": 1, "paused": true}, func(p *termui.Printer) { p.Text(said + "\n") })
		}
		named, err := c.unpauseNamed(cmd.Context(), ch.all)
		if err != nil {
			return err
		}
		still := named
		if ch.all {
			still = 0
		}
		said := unpausedWords(before.Daemon.Paused, named, ch.all)
		return c.print(map[string]any{"version": 1, "paused": false, "still_paused": still}, func(p *termui.Printer) { p.Text(said + "\n") })
	}
	return c.jsonFlag(cmd)
}

func pausedWords(before control.Status) string {
	waiting := 0
	for _, s := range before.Sessions {
		if s.State == resume.Waiting {
			waiting++
		}
	}
	said := "Paused"
	if before.Daemon.Paused {
		said = "Paused already"
	}
	if waiting > 0 {
		said += ", with " + humanize.Count(waiting, "session") + " waiting"
	}
	return said + ": nothing is started until resumed unpause."
}

// unpausedWords says what an unpause did. named is how many sessions and tasks were paused by name or class.
func unpausedWords(wasPaused bool, named int, all bool) string {
	var said []string
	switch {
	case wasPaused:
		said = append(said, "Unpaused: sessions whose wait is over start now.")
	case named == 0:
		said = append(said, "Nothing is paused.")
	case !all:
		said = append(said, "There was no pause of everything.")
	}
	switch {
	case named > 0 && all:
		said = append(said, fmt.Sprintf("%d unpaused that %s paused by name or class.", named, humanize.Verb(named, "was", "were")))
	case named > 0:
		said = append(said, humanize.StillPaused(named))
	}
	return strings.Join(said, "\n")
}

// unpauseNamed returns how many sessions and tasks were paused by name or class, and unpauses them if all is
// true.
func (c *cli) unpauseNamed(ctx context.Context, all bool) (n int, err error) {
	status, err := c.client().Status(ctx, false)
	if err != nil {
		return 0, err
	}
	tasks, err := c.client().Tasks(ctx)
	if err != nil {
		return 0, err
	}
	named := make(map[string]bool) // a task may be among the sessions too
	for _, s := range status.Sessions {
		if s.Paused {
			named[s.Key().String()] = true
		}
	}
	for _, t := range tasks {
		if t.Paused {
			named[resume.Key{Agent: t.Agent, ID: t.ID}.String()] = true
		}
	}
	if !all {
		return len(named), nil
	}
	var failed []error
	for name := range named {
		_, err := c.client().Do(ctx, name, control.Unpause)
		failed = append(failed, err)
	}
	return len(named), errors.Join(failed...)
}

// orderChosen gives an order for the sessions that either names or flags choose.
func (c *cli) orderChosen(cmd *cobra.Command, ch chosen, flags string, order control.Action, done string) error {
	if byFlag := ch.all || ch.unseen || ch.class != ""; byFlag == (len(ch.names) > 0) {
		return usageError(fmt.Errorf("%s needs either sessions, or %s", cmd.Name(), flags))
	}
	one := len(ch.names) == 1
	if len(ch.names) == 0 {
		status, err := c.client().Status(cmd.Context(), false)
		if err != nil {
			return err
		}
		found := status.Sessions
		if ch.unseen {
			found = view.WithoutStart(found)
		}
		for _, s := range found {
			fits := s.State.CanRetry()
			if order == control.Unpause {
				fits = s.Paused
			}
			if fits && (ch.class == "" || s.Class.String() == ch.class) {
				ch.names = append(ch.names, s.Key().String())
			}
		}
	}
	if n := len(ch.names); ch.ask && n > 1 && !c.json && onTerminal() && !c.agreed(fmt.Sprintf("Cancel %d sessions? They are not continued after this limit. [y/N] ", n)) {
		return usageError(errors.New("nothing was done"))
	}
	return c.order(cmd, ch.names, one, order, done)
}

// order makes the daemon do something with each session, and prints their states after it. An order that
// fails does not keep the others from being tried.
func (c *cli) order(cmd *cobra.Command, names []string, one bool, order control.Action, done string) error {
	client, after := c.client(), []view.Session{}
	idle := make(map[resume.Key]bool) // sessions that an order would not change
	var early []string
	var failed []error
	do := func(name string, order control.Action) {
		if order == control.Pause || order == control.Unpause {
			now, err := client.Session(cmd.Context(), name)
			if err == nil && len(now.Sessions) == 1 && now.Sessions[0].Paused == (order == control.Pause) {
				idle[now.Sessions[0].Key()] = true
				after = append(after, now.Sessions[0])
				return
			}
		}
		session, err := client.Do(cmd.Context(), name, order)
		if errors.Is(err, control.ErrEarly) && !one {
			if found, unknown := client.Session(cmd.Context(), name); unknown == nil {
				err = fmt.Errorf("%s: %w", humanize.Called(found.Sessions[0]), err)
			}
		}
		switch {
		case errors.Is(err, control.ErrEarly):
			early, failed = append(early, name), append(failed, err)
		case errors.Is(err, control.ErrNoSession) && strings.Contains(name, "/"): // HOST/SESSION
			failed = append(failed, hint.With(err, "resumed status --fleet"))
		case err != nil:
			failed = append(failed, err)
		default:
			after = append(after, session)
		}
	}
	for _, name := range names {
		do(name, order)
	}
	if len(names) == 0 && !c.json {
		return c.say("No session is %s that way: nothing was done.", map[bool]string{true: "paused", false: "stopped"}[order == control.Unpause])
	}
	if len(early) > 0 && c.agreed(earlyQuestion(failed, len(early))) {
		failed = slices.DeleteFunc(failed, func(err error) bool { return errors.Is(err, control.ErrEarly) })
		for _, name := range early {
			do(name, control.Retry)
		}
	}
	return errors.Join(c.printAfter(after, idle, one, order, done), notDone(failed))
}

func earlyQuestion(errs []error, n int) string {
	if n > 1 {
		return fmt.Sprintf("Providers asked %d sessions to wait longer. Resume them now all the same? [y/N] ", n)
	}
	early := errs[slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, control.ErrEarly) })]
	text := humanize.ReasonAt(early.Error(), time.Now())
	if strings.HasPrefix(text, control.ErrEarly.Error()) { // and not with the name of a session
		text = "T" + text[1:]
	}
	return text + ". Resume it now all the same? [y/N] "
}

// notDone returns the errors of orders. One that came too early is an error of usage.
func notDone(errs []error) error {
	early := 0
	for i, err := range errs {
		if errors.Is(err, control.ErrEarly) {
			errs[i] = usageError(errors.New("nothing was done: " + humanize.ReasonAt(err.Error(), time.Now())))
			early++
		}
	}
	if early > 0 {
		return hint.With(errors.Join(errs...), "the same command with --now")
	}
	return errors.Join(errs...)
}

func (c *cli) printAfter(after []view.Session, idle map[resume.Key]bool, one bool, order control.Action, done string) error {
	switch {
	case c.json && one && len(after) == 1:
		return c.printJSON(struct {
			Version int          `json:"version"`
			Session view.Session `json:"session"`
		}{1, after[0]})
	case c.json && !one:
		return c.printJSON(struct {
			Version  int            `json:"version"`
			Sessions []view.Session `json:"sessions"`
		}{1, after})
	}
	for _, s := range after {
		said := humanize.After(s, order == control.Retry || order == control.Due, done, time.Now())
		if idle[s.Key()] {
			said = map[bool]string{true: "was paused already", false: "was not paused"}[s.Paused]
		}
		if err := c.say("%s: %s", humanize.Called(s), said); err != nil {
			return err
		}
	}
	changed := len(after) - len(idle)
	if order == control.Retry || order == control.Due || len(after) < 2 {
		return nil
	}
	if changed == 0 {
		return c.say("Nothing was changed.")
	}
	if err := c.say("%s %s.", humanize.Count(changed, "session"), done); err != nil {
		return err
	}
	if order == control.Cancel || order == control.Stop {
		return c.say("To undo this: %s", retryLine(after))
	}
	return nil
}

// retryLine returns the command that retries these sessions, or, if they are many, how one is retried.
func retryLine(sessions []view.Session) string {
	const most = 20
	if len(sessions) > most {
		return "resumed retry SESSION"
	}
	words := []string{"resumed", "retry"}
	for _, s := range sessions {
		words = append(words, sanitize.ShellWord(s.Typed()))
	}
	return strings.Join(words, " ")
}
