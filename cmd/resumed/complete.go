//go:build !windows

package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"resumed/internal/agents"
	"resumed/internal/backoff"
	"resumed/internal/config"
	"resumed/internal/deliver"
	"resumed/internal/dirs"
	"resumed/internal/humanize"
	"resumed/internal/notify/channels"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/sanitize"
)

// completionTimeout bounds how long a person who pressed tab waits for the
// daemon.
const completionTimeout = time.Second

// completer offers what may stand in one place of the command line.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// addCompletion lets the shell complete what the commands take, by the words
// in which their usage names it.
func (c *cli) addCompletion(cmd *cobra.Command) {
	takes := func(word string) bool { return strings.Contains(cmd.Use, word) }
	switch {
	case cmd.ValidArgsFunction != nil || cmd.Hidden || cmd.HasSubCommands():
	case takes("SESSION") && cmd.Name() == "logs":
		cmd.ValidArgsFunction = first(c.completeRuns)
	case takes("SESSION"):
		cmd.ValidArgsFunction = first(c.completeSessions(worth[cmd.Name()]))
	case takes("NAME") && cmd.Parent().Name() == "notify":
		cmd.ValidArgsFunction = first(c.completeChannels)
	case !takes("FILE") && !takes("CMD"):
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { c.completeFlag(cmd, flag.Name) })
	for _, sub := range cmd.Commands() {
		c.addCompletion(sub)
	}
}

// completeFlag offers the values of a flag that names something.
func (c *cli) completeFlag(cmd *cobra.Command, name string) {
	offers := map[string]completer{
		"policy":     c.completePolicies,
		"agent":      c.completeAgents,
		"log-level":  cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp),
		"log-format": cobra.FixedCompletions([]string{"auto", "text", "json"}, cobra.ShellCompDirectiveNoFileComp),
	}
	if offer := offers[name]; offer != nil {
		_ = cmd.RegisterFlagCompletionFunc(name, offer) // one that is registered stays
	}
}

// worth says of which sessions a command makes sense; of any, where it is not
// listed.
var worth = map[string]func(view.Session) bool{
	"retry":   func(s view.Session) bool { return s.State != resume.Watching },
	"cancel":  func(s view.Session) bool { return s.State != resume.Watching },
	"pause":   func(s view.Session) bool { return !s.Paused },
	"unpause": func(s view.Session) bool { return s.Paused },
}

// first completes the first argument only.
func first(offer completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, typed)
	}
}

// completeSessions offers the sessions that the running daemon knows.
func (c *cli) completeSessions(want func(view.Session) bool) completer {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		status, err := c.client().Status(ctx, true)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offers []string
		for _, s := range status.Sessions {
			listed := s.LimitedAt != nil || s.Paused
			name := typeable(status.Sessions, s, typed)
			if name == "" || !listed || want != nil && !want(s) {
				continue
			}
			offers = offer(offers, name, humanize.Project(s)+", "+humanize.Standing(s, time.Now()))
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// typeable returns what a person may go on to type to mean the session: its id,
// or its project where that means no other one; "" where neither begins so.
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

// completeRuns offers the sessions whose output is kept; it needs no daemon.
func (c *cli) completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	root, err := dirs.State(os.Getenv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	outputs, err := deliver.Outputs(root)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []string
	for key := range outputs {
		offers = offer(offers, key.ID, "")
	}
	slices.Sort(offers)
	return offers, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) completePolicies(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var offers []string
	for _, name := range backoff.Names() {
		offers = offer(offers, name, "built in")
	}
	for _, p := range c.inForce(cmd.Context()).Backoff.Policies {
		if !slices.Contains(backoff.Names(), p.Name) {
			offers = offer(offers, p.Name, "from the configuration")
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) completeAgents(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	agents, err := agents.Make(c.inForce(cmd.Context()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []string
	for name := range agents {
		offers = offer(offers, name, "")
	}
	slices.Sort(offers)
	return offers, cobra.ShellCompDirectiveNoFileComp
}

func (c *cli) completeChannels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ways, err := channels.Build("", c.inForce(cmd.Context()), nil, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offers []string
	for _, channel := range ways {
		offers = offer(offers, channel.Name(), "")
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// inForce returns the configuration of the running daemon, or the one that a
// daemon would have.
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

// harmlessName is what a shell takes as one word that does nothing else. What
// an agent calls its sessions is not ours to trust.
var harmlessName = regexp.MustCompile(`^[\pL\pN._:@%+,=/][\pL\pN._:@%+,=/-]*$`)

// offer adds a name and what it means.
func offer(offers []string, name, means string) []string {
	if !harmlessName.MatchString(name) {
		return offers
	}
	return append(offers, cobra.CompletionWithDesc(name, sanitize.Short(means, 60)))
}
