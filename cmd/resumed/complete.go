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

// completionTimeout bounds how long a person who pressed tab waits for the
// daemon.
const completionTimeout = time.Second

// offers returns what may be typed in one place of the command line, where typed already is.
type offers = func(ctx context.Context, typed string) []string

// addCompletion lets the shell complete what the commands take, by the words
// in which their usage names it.
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
			}) // one that is registered stays
		}
	}
	for _, sub := range cmd.Commands() {
		c.addCompletion(sub)
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
func first(offer offers) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// offerSessions offers the sessions that the running daemon knows.
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
				names = offer(names, name, humanize.Project(s)+", "+humanize.Standing(s, time.Now()))
			}
		}
		return names
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

// offerRuns offers the sessions whose output is stored; it needs no daemon.
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
		names = offer(names, channel.Name(), "")
	}
	return names
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
func offer(names []string, name, means string) []string {
	if !harmlessName.MatchString(name) {
		return names
	}
	return append(names, cobra.CompletionWithDesc(name, sanitize.Short(means, 60)))
}
