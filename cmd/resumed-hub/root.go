package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"resumed/internal/buildinfo"
	"resumed/internal/commandline"
	"resumed/internal/dirs"
	"resumed/internal/hub"
	"resumed/internal/logging"
)

// Exit codes, as documented.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

type cli struct {
	out, err            io.Writer
	dirArg              string
	logLevel, logFormat string
	json                bool
}

// run is the whole program without the process: it returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &cli{out: out, err: errOut}
	cmd, err := commandline.Execute(ctx, c.root(), args, out, errOut)
	_, usage := errors.AsType[commandline.UsageError](err)
	code, try := exitFailed, ""
	switch {
	case err == nil:
		return exitDone
	case usage:
		code, try = exitUsage, cmd.CommandPath()+" --help"
	}
	commandline.Report(c.err, err, try)
	return code
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:         "resumed-hub",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "resumed hub"},
		Version:     buildinfo.About("resumed-hub"),
		Short:       "Run the server that connects the machines of a fleet",
		Long: "Serves what `hub init` made, until SIGTERM or Ctrl-C. It knows the state of the accounts, the\n" +
			"machines and the waiting sessions. It starts nothing, and machines work alone while it is down.",
		Example:       "  resumed hub init --listen 192.168.1.10:4222\n  resumed hub",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          c.inDir(c.serve(hub.Serve)),
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.dirArg, "dir", "", "the hub's `DIRECTORY`")
	flags.String("config", "", "") // `resumed --config FILE hub` passes it on; a hub has no configuration
	_ = flags.MarkHidden("config") // it exists
	commandline.LogFlags(root, &c.logLevel, &c.logFormat)
	root.AddCommand(c.initCommand(), c.inviteCommand(), c.listCommand(), c.removeCommand(), c.streamsCommand())
	commandline.Prepare(root, meant())
	return root
}

// meant are words that people know from other programs.
func meant() []commandline.Meant {
	return []commandline.Meant{
		{Words: "hub ls, hub ps, hub show, hub machines", Command: "resumed hub list"},
		{Words: "hub status", Command: "resumed hub list, or resumed status --fleet"},
		{Words: "hub rm, hub delete, hub kick, hub revoke", Command: "resumed hub remove NAME"},
		{Words: "hub serve, hub start, hub run, hub up", Command: "resumed hub"},
		{Words: "hub create, hub new", Command: "resumed hub init"},
		{Words: "hub add, hub line", Command: "resumed hub invite NAME"},
		{Words: "hub join", Command: "resumed fleet join -"},
		{Words: "hub leave", Command: "resumed fleet leave"},
	}
}

// serve returns a command that serves until it is stopped.
func (c *cli) serve(run func(context.Context, hub.Options) error) func(context.Context, string, []string) error {
	return func(ctx context.Context, dir string, _ []string) error {
		var level slog.Level
		_ = level.UnmarshalText([]byte(c.logLevel)) // it was checked; without the flag it is info
		log := logging.New(c.err, level, c.logFormat)
		return run(ctx, hub.Options{
			Dir: dir, Log: log,
			Ready: func(address string) { log.Info("ready", "listen", address, "dir", dir) },
		})
	}
}

func (c *cli) inDir(run func(ctx context.Context, dir string, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		dir, err := c.dir()
		if err != nil {
			return err
		}
		return run(cmd.Context(), dir, args)
	}
}

// dir returns the hub's directory: from the flag, in the directory that systemd made for the service,
// or else next to the state of the user's daemon.
func (c *cli) dir() (string, error) {
	if c.dirArg != "" {
		return filepath.Abs(c.dirArg)
	}
	state, err := dirs.State(os.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "hub"), nil
}
