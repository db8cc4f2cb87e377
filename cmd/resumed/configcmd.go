//go:build !windows

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/config"
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

// toCorrect returns what to do about a wrong file.
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
		_, err = fmt.Fprintln(c.out, string(sanitize.Escape(data)))
		return err
	}
	_, err = fmt.Fprint(c.out, cfg.TOML())
	return err
}
