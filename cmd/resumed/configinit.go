//go:build !windows

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"resumed/configs"
	"resumed/internal/agents"
	"resumed/internal/config"
	"resumed/internal/config/edit"
	"resumed/internal/hint"
	"resumed/internal/sanitize"
)

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
	_ = cmd.RegisterFlagCompletionFunc("agent", cobra.FixedCompletions(configs.Recipes(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
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

// configInit writes a new file.
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
