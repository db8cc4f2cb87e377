package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/app"
	"resumed/internal/config"
	"resumed/internal/demo"
	"resumed/internal/dirs"
	"resumed/internal/hint"
	"resumed/internal/logging"
	"resumed/internal/state"
)

func (c *cli) runCommand() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in this terminal",
		Long: "Watches the sessions of every agent that it finds and continues those that a limit\n" +
			"stopped. SIGHUP reads the configuration again; SIGTERM and Ctrl-C stop the daemon,\n" +
			"but not the agents that it has resumed.\n\n" +
			"With --dry-run it does not disturb a running daemon and leaves nothing behind; status\n" +
			"shows it if no other daemon runs.",
		Example: "  resumed run\n  resumed run --dry-run --log-level debug",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.daemon(cmd.Context(), dryRun) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "decide and log everything, but start and type nothing")
	return cmd
}

func (c *cli) daemon(ctx context.Context, dryRun bool) error {
	cfg, path, err := c.load()
	if err != nil {
		return err
	}
	// A Go program that panics exits with 2, which is also the code for a wrong configuration, and a
	// service manager would not restart it. This makes it end by a signal.
	debug.SetTraceback("crash")
	level, log := c.logger(cfg)
	app.Warn(log, path, cfg)
	if err := buildable(cfg, path); err != nil {
		return err
	}
	stateDir, runtimeDir, cleanUp, err := places(dryRun)
	if err != nil {
		return err
	}
	defer cleanUp()
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	err = app.Run(ctx, app.Options{
		ConfigPath: path,
		Config:     cfg,

		ConfigNamed: c.configArg != "" || os.Getenv("RESUMED_CONFIG") != "",

		StateDir:   stateDir,
		RuntimeDir: runtimeDir,
		LeaseDirs:  dirs.Leases(os.Getenv, stateDir),
		Version:    version(),
		DryRun:     dryRun,
		Log:        log,
		Level:      level,
		Reload:     reload,
	})
	if held, ok := errors.AsType[*state.HeldError](err); ok {
		return hint.With(held, "resumed status, or stop the other one first")
	}
	return notWritable(err, stateDir)
}

// notWritable adds to an error of a file what to do if the state directory cannot be made or written to.
func notWritable(err error, stateDir string) error {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok || !strings.HasPrefix(file.Path, stateDir) && !strings.HasPrefix(stateDir, file.Path) {
		return err
	}
	try := "set XDG_STATE_HOME to a directory that you can write to"
	if errors.Is(err, fs.ErrPermission) {
		try = dirs.HowToOwn(stateDir, "$USER") + ", or " + try
	}
	return hint.With(err, try)
}

// logger returns the configured logger. Its level follows the configuration unless a flag sets it.
func (c *cli) logger(cfg config.Config) (*slog.LevelVar, *slog.Logger) {
	format := cmp.Or(c.logFormat, cfg.Log.Format)
	level := new(slog.LevelVar)
	level.Set(cfg.Log.SlogLevel())
	if c.logLevel == "" {
		return level, logging.New(c.err, level, format)
	}
	var fixed slog.Level
	_ = fixed.UnmarshalText([]byte(c.logLevel)) // checked before
	return nil, logging.New(c.err, fixed, format)
}

// places returns the directories of state and socket. A dry run has its own: it must not disturb a
// running daemon, and must leave nothing behind.
func places(dryRun bool) (stateDir, runtimeDir string, cleanUp func(), err error) {
	if stateDir, err = dirs.State(os.Getenv); err != nil {
		return "", "", nil, err
	}
	if dryRun {
		dir, err := dirs.MakeDryRun(stateDir)
		return dir, dir, func() { _ = os.RemoveAll(dir) }, err
	}
	if runtimeDir, err = dirs.Runtime(os.Getenv); err != nil {
		return "", "", nil, err
	}
	return stateDir, runtimeDir, func() {}, nil
}

func (c *cli) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See in ten seconds what happens after a limit",
		Long: "Runs the real daemon in a temporary directory with pretend agents: one hits a limit and\n" +
			"continues, one never recovers, and one was stopped before and waits for your word. It\n" +
			"installs nothing and leaves nothing behind.",
		Example: "  resumed demo",
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo.Run(cmd.Context(), c.out, c.page(), version()) },
	}
}

func (c *cli) demoAgentCommand() *cobra.Command {
	return &cobra.Command{
		Use:                demo.AgentCommand + " NAME SESSION PROMPT",
		Hidden:             true,
		Args:               cobra.ArbitraryArgs, // also the flags of the agent that it stands in for
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			err := demo.Agent(args[0], args[1])
			if errors.Is(err, demo.ErrLimited) {
				return errSilent
			}
			return err
		},
	}
}
