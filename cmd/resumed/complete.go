package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/backoff"
	"resumed/internal/config"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/notify/channels"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/runfiles"
	"resumed/internal/sanitize"
)

// completionTimeout limits the wait for the daemon after the tab key.
const completionTimeout = time.Second

// offers returns the completions at one place of the command line, where typed is already there.
type offers = func(ctx context.Context, typed string) []string

// addCompletion makes the shell complete arguments, by the words in the usage lines.
func (c *cli) addCompletion(cmd *cobra.Command) {
	takes := func(word string) bool { return strings.Contains(cmd.Use, word) }
	switch {
	case cmd.ValidArgsFunction != nil || cmd.Hidden || cmd.HasSubCommands():
	case takes("SESSION") && cmd.Name() == "logs":
		cmd.ValidArgsFunction = first(c.offerRuns)
	case takes("SESSION"):
		cmd.ValidArgsFunction = first(c.offerSessions(worth[cmd.Name()]))
	case takes("NAME") && cmd.Parent().Name() == "notify":
		cmd.ValidArgsFunction = first(c.offerChannels)
	case !takes("FILE") && !takes("CMD"):
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for flag, offer := range map[string]offers{"policy": c.offerPolicies, "agent": c.offerAgents} {
		if cmd.LocalFlags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return offer(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
			}) // an earlier registration stays
		}
	}
	for _, sub := range cmd.Commands() {
		c.addCompletion(sub)
	}
}

// worth says for which sessions a command makes sense; a command that is not listed: for all.
var worth = map[string]func(view.Session) bool{
	"retry":   func(s view.Session) bool { return s.State != resume.Watching },
	"cancel":  func(s view.Session) bool { return s.State != resume.Watching },
	"pause":   func(s view.Session) bool { return !s.Paused },
	"unpause": func(s view.Session) bool { return s.Paused },
}

// first completes the first argument, and more if the command takes several.
func first(offer offers) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(cmd.Use, "SESSION…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(offer(cmd.Context(), typed), func(offered string) bool {
			name, _, _ := strings.Cut(offered, "\t")
			return slices.Contains(args, name)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *cli) offerSessions(want func(view.Session) bool) offers {
	return func(ctx context.Context, typed string) (names []string) {
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		status, err := c.client().Status(ctx, true)
		if err != nil {
			return nil
		}
		for _, s := range status.Sessions {
			listed := s.LimitedAt != nil || s.Paused
			name := typeable(status.Sessions, s, typed)
			if name != "" && listed && (want == nil || want(s)) {
				names = offer(names, name, humanize.Project(s)+", "+humanize.StatePhrase(s, time.Now()))
			}
		}
		return names
	}
}

// typeable returns the name of the session that continues what was typed: its id, or its project if no
// other session has that; "": neither matches.
func typeable(all []view.Session, s view.Session, typed string) string {
	name, project := s.ID, filepath.Base(s.Cwd)
	if strings.Contains(typed, "/") {
		name = s.Key().String()
	}
	if strings.HasPrefix(name, typed) {
		return name
	}
	if found, err := view.Find(all, project); err == nil && found.Key() == s.Key() && strings.HasPrefix(project, typed) {
		return project
	}
	return ""
}

// offerRuns offers the sessions with stored output. It needs no daemon.
func (c *cli) offerRuns(context.Context, string) (names []string) {
	root, err := dirs.State(os.Getenv)
	if err != nil {
		return nil
	}
	outputs, _ := runfiles.Outputs(root)
	for key := range outputs {
		names = offer(names, key.ID, "")
	}
	slices.Sort(names)
	return names
}

func (c *cli) offerPolicies(ctx context.Context, _ string) (names []string) {
	for _, name := range c.inForce(ctx).PolicyNames() {
		means := "from the configuration"
		if slices.Contains(backoff.Names(), name) {
			means = "built in"
		}
		names = offer(names, name, means)
	}
	return names
}

func (c *cli) offerAgents(ctx context.Context, _ string) (names []string) {
	made, _ := agents.Make(c.inForce(ctx))
	for name := range made {
		names = offer(names, name, "")
	}
	slices.Sort(names)
	return names
}

func (c *cli) offerChannels(ctx context.Context, _ string) (names []string) {
	ways, _ := channels.Build("", c.inForce(ctx), nil, nil)
	for _, channel := range ways {
		names = offer(names, channel.Name, "")
	}
	return names
}

// inForce returns the configuration of the running daemon, or the one that a daemon would load.
func (c *cli) inForce(ctx context.Context) config.Config {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	status, err := c.client().Status(ctx, false)
	if err == nil && c.configArg == "" && status.Daemon.Config.Path != "" {
		if cfg, err := config.Load(status.Daemon.Config.Path, agents.Known()); err == nil {
			return cfg
		}
	}
	cfg, _, err := c.load()
	if err != nil {
		return config.Default()
	}
	return cfg
}

// offer adds a name that is a single shell word without side effects, and no option. The names that agents
// give to sessions cannot be trusted.
func offer(names []string, name, means string) []string {
	if strings.HasPrefix(name, "-") || sanitize.ShellWord(name) != name {
		return names
	}
	return append(names, cobra.CompletionWithDesc(name, sanitize.Short(means, 60)))
}
