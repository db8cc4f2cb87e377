package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/execrun"
	"resumed/internal/hint"
	"resumed/internal/logging"
	"resumed/internal/process"
	"resumed/internal/sanitize"
	"resumed/internal/shell"
	"resumed/internal/shellinit"
	"resumed/internal/terminal/shellpty"
	"resumed/internal/terminal/tmux"
)

func (c *cli) shellCommand() *cobra.Command {
	inTmux, initFor, shells := false, "", strings.Join(shellinit.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "shell [COMMAND [ARG…]]",
		Args:  cobra.ArbitraryArgs,
		Short: "Start an agent so that the daemon can type into it",
		Long: "Starts an agent in this terminal, whichever it is. After a limit the daemon types the\n" +
			"prompt there; nothing else changes, and the exit code is the agent's own. In tmux\n" +
			"the agent is started directly: the daemon can type there anyway. So it is if there is\n" +
			"no terminal, as in a script.\n\n" +
			"With --tmux the agent runs inside its own tmux: it keeps running if you close the\n" +
			"window, and Ctrl-b d leaves it and prints how to come back.\n\n" +
			"Without a command, it lists the agents that still run.",
		Example: "  resumed shell claude\n" +
			"  resumed shell claude --resume 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e\n" +
			"  alias claude='resumed shell claude'\n" +
			"  resumed shell --tmux claude\n" +
			"  resumed shell\n" +
			"  eval \"$(resumed shell --init bash)\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, ok := shellinit.Find(initFor)
			switch asked := cmd.Flags().Changed("init"); {
			case asked && (!ok || len(args) > 0):
				return usageError(fmt.Errorf("--init takes one of %s, and nothing else", shells))
			case asked && logging.IsTerminal(c.out) && len(agents.InPath()) == 0:
				return hint.With(errors.New("no agent is installed, so there is no function to print"), "resumed doctor")
			case asked:
				return c.show(found.Script(agents.InPath()))
			case len(args) == 0:
				return c.listShells(cmd.Context())
			}
			return c.shell(cmd.Context(), args, inTmux)
		},
	}
	cmd.Flags().StringVar(&initFor, "init", "", "print functions that start your agents like this, for `SHELL`: "+shells)
	cmd.Flags().BoolVar(&inTmux, "tmux", false, "in its own tmux, where it keeps running without this window")
	cmd.Flags().SetInterspersed(false) // flags after the command belong to the command
	return cmd
}

// leadShell is the name of the command that starts an agent in the terminal of a `resumed shell`.
const leadShell = process.LeadShell

func (c *cli) leadShellCommand() *cobra.Command {
	return &cobra.Command{
		Use:                leadShell + " PROGRAM NAME [ARG…]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := shell.Lead(args[0], args[1:])
			if err != nil {
				return finished(execrun.CodeCannotStart, err)
			}
			return finished(code, nil)
		},
	}
}

func (c *cli) shell(ctx context.Context, argv []string, inTmux bool) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return finished(execrun.CodeCannotStart, err)
		}
		return finished(execrun.CodeNotFound, err)
	}
	shown := logging.IsTerminal(os.Stdin) && logging.IsTerminal(os.Stdout)
	switch {
	case inTmux && !shown:
		return hint.With(errors.New("there is no terminal to show "+argv[0]+" in"), "start it without --tmux")
	case inTmux && os.Getenv("TMUX") == "":
		if _, err := exec.LookPath("tmux"); err != nil {
			return hint.With(errors.New("tmux is not installed"), "install the package tmux, or leave out --tmux")
		}
		return finished(tmux.Show(append([]string{program}, argv[1:]...), c.out, c.err))
	case inTmux || !shown || shell.Needless(ctx):
		return fmt.Errorf("start %s: %w", program, syscall.Exec(program, argv, os.Environ()))
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	leader := exec.Command(self, append([]string{leadShell, program}, argv...)...)
	return finished(shell.Run(shell.Options{
		Program: argv[0], Leader: leader, Dir: shellsDir(), Record: recordStarts, Daemons: daemons(dirs.Sockets(os.Getenv)),
		Warn: func(err error) { fmt.Fprintln(c.err, "resumed:", sanitize.Line(err.Error())) },
	}))
}

// daemons returns a function that connects to those of these places where a daemon listens.
func daemons(places []string) func() []net.Conn {
	return func() (conns []net.Conn) {
		for _, dir := range places {
			if conn, err := control.Dial(context.Background(), dir); err == nil {
				conns = append(conns, conn)
			}
		}
		return conns
	}
}

func recordStarts(pids []int) (found bool) {
	for _, pid := range pids {
		if key, ok := agents.SessionOf(pid); ok {
			found = recordStart(key, pid) || found
		}
	}
	return found
}

// shellsDir is the directory of the sockets. The daemon does not search there: each agent's environment
// names its own.
func shellsDir() string {
	dir, err := dirs.Runtime(os.Getenv)
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "shells")
}

// listShells prints which agents still run, and how to attach to those that may have no window.
func (c *cli) listShells(ctx context.Context) error {
	var b strings.Builder
	for _, s := range tmux.StillRunning() {
		fmt.Fprintf(&b, "tmux -L %s attach   # %s in %s\n", s.Server, sanitize.Line(s.Program), sanitize.Line(s.Dir))
	}
	for _, s := range shellpty.All(ctx, shellsDir()) {
		fmt.Fprintf(&b, "in its own window   # %s in %s (process %d)\n", sanitize.Line(s.Program), sanitize.Line(s.Dir), s.PID)
	}
	return c.show(cmp.Or(b.String(), "No agent that resumed shell started is running.\n"))
}
