package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"resumed/configs"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/config/edit"
	"resumed/internal/hint"
	"resumed/internal/notify/channels"
	"resumed/internal/sanitize"
)

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Write, check or show the configuration",
		Example: "  resumed config init\n  resumed config check\n  resumed config show",
	}
	cmd.AddCommand(
		c.configInitCommand(),
		&cobra.Command{
			Use:     "check [FILE]",
			Short:   "Check a file and print every error in it",
			Example: "  resumed config check\n  resumed config check new.toml",
			RunE: func(_ *cobra.Command, args []string) error {
				if len(args) == 1 {
					c.configArg = args[0]
				}
				return c.configCheck()
			},
		},
		c.jsonFlag(&cobra.Command{
			Use:     "show",
			Short:   "Print the configuration in use, with secrets hidden",
			Example: "  resumed config show\n  resumed config show --json | jq .backoff",
			RunE:    func(*cobra.Command, []string) error { return c.configShow() },
		}),
	)
	return cmd
}

// configCheck does everything the daemon would do with the file, except run.
func (c *cli) configCheck() error {
	cfg, path, err := c.load()
	if err != nil {
		return err
	}
	if err := buildable(cfg, path); err != nil {
		return err
	}
	for _, warning := range config.Warnings(path, cfg) {
		fmt.Fprintln(c.err, "resumed: warning:", sanitize.Line(warning))
	}
	said := cfg.Failovers()
	for _, name := range slices.Sorted(maps.Keys(said)) {
		fmt.Fprintf(c.out, "%s: %s\n", name, sanitize.Line(said[name]))
	}
	if path == "" {
		path = "no file found: the built-in defaults"
	}
	return c.say("%s: ok", path)
}

// buildable reports all parts of the daemon that cannot be made from a valid configuration, for example
// because a file is missing.
func buildable(cfg config.Config, path string) error {
	_, badAgents := agents.Make(cfg)
	_, badChannels := channels.Build(path, cfg, nil, nil)
	if err := errors.Join(badAgents, badChannels); err != nil {
		return toMend(err, path)
	}
	return nil
}

func toCorrect(path string) string {
	return "correct " + path + ", then resumed config check " + sanitize.ShellWord(path)
}

func toMend(err error, path string) error {
	if path == "" { // no file is wrong
		return hint.With(usageError(err), "resumed doctor")
	}
	return hint.With(usageError(err), toCorrect(path))
}

func (c *cli) configShow() error {
	cfg, _, err := c.load()
	if err != nil {
		return err
	}
	if c.json {
		data, err := json.MarshalIndent(cfg, "", "  ")
		if err != nil {
			return fmt.Errorf("encode configuration: %w", err)
		}
		return c.show(string(sanitize.Escape(data)) + "\n")
	}
	return c.show(cfg.String())
}

func (c *cli) configInitCommand() *cobra.Command {
	var recipe string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a file with every key, its default and a comment",
		Long: `Writes a configuration file with every key, its default and a comment. An existing file is
not changed.

With --agent, the description of that agent is added, also to an existing file.
docs/agents/custom.md lists these agents, and what was tried.`,

		Example: "  resumed config init\n  resumed config init --agent droid",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := c.ownConfig(cmd)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("agent") {
				return c.addRecipe(path, recipe)
			}
			return c.configInit(path, configs.Template)
		},
	}
	cmd.Flags().StringVar(&recipe, "agent", "", "add the description of this agent: "+strings.Join(configs.Recipes(), ", "))
	complete(cmd, "agent", configs.Recipes()...)
	return cmd
}

// ownConfig returns the path of the file that a command writes, which need not exist.
func (c *cli) ownConfig(cmd *cobra.Command) (string, error) {
	path := cmp.Or(c.configArg, os.Getenv("RESUMED_CONFIG"), config.UserPath(os.Getenv))
	if path == "" {
		_, words, _ := strings.Cut(cmd.UseLine(), " ")
		return "", hint.With(errors.New("HOME is not set: there is no place for a configuration"), "resumed --config FILE "+strings.TrimSuffix(words, " [flags]"))
	}
	return path, nil
}

func (c *cli) configInit(path, text string) error {
	err := edit.Create(path, text)
	if errors.Is(err, fs.ErrExist) {
		return hint.With(fmt.Errorf("%s exists already, and was not changed", path), "resumed config check")
	}
	if err != nil {
		return err
	}
	return c.say("wrote %s", path)
}

// addRecipe adds the description of an agent to the file, or to a new one.
func (c *cli) addRecipe(path, name string) error {
	recipe, ok := configs.Recipe(name)
	if !ok {
		return hint.With(usageError(fmt.Errorf("--agent %q: there is no description of it", name)), "one of: "+strings.Join(configs.Recipes(), ", "))
	}
	cfg, err := config.Load(path, agents.Known())
	if errors.Is(err, fs.ErrNotExist) {
		return c.configInit(path, configs.Template+"\n"+recipe)
	}
	if err != nil {
		return toMend(err, path)
	}
	if slices.ContainsFunc(cfg.Agents, func(a config.Agent) bool { return a.Name == name }) {
		return hint.With(fmt.Errorf("%s already has an [[agent]] named %s, and was not changed", path, name), "resumed config check "+sanitize.ShellWord(path))
	}
	if err := edit.Append(path, recipe, agents.Known()); err != nil {
		return err
	}
	return c.say("added %s to %s", name, path)
}
