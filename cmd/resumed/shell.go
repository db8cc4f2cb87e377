//go:build !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/execrun"
	"resumed/internal/hint"
	"resumed/internal/logging"
	"resumed/internal/sanitize"
	"resumed/internal/terminal/tmux"
)

func (c *cli) shellCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shell [COMMAND [ARG…]]",
		Args:  cobra.ArbitraryArgs,
		Short: "Start an agent so that the daemon can type into it",
		Long: "Starts an agent in this terminal, inside its own tmux. After a limit the daemon types the\n" +
			"prompt there, and nothing is lost if you close the window. Ctrl-b d leaves the agent\n" +
			"running and prints how to come back. If you are already in tmux, the agent is started\n" +
			"directly; in kitty you do not need this command. The exit code is the agent's own.\n\n" +
			"Without a command, it lists the agents that still run, with the command to come back.",
		Example: "  resumed shell claude\n" +
			"  resumed shell claude --resume 4f2a9c1e-77aa-4b0e-9d52-0a3b6f1c2d3e\n" +
			"  alias claude='resumed shell claude'\n" +
			"  resumed shell",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listShells(tmux.StillRunning())
			}
			return c.shell(args)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after the command belong to the command
	return cmd
}

func (c *cli) shell(argv []string) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return finished(execrun.CodeNotFound, err)
	}
	if os.Getenv("TMUX") != "" {
		return fmt.Errorf("start %s: %w", program, syscall.Exec(program, argv, os.Environ()))
	}
	if !logging.IsTerminal(os.Stdin) || !logging.IsTerminal(os.Stdout) {
		return hint.With(errors.New("there is no terminal to show "+argv[0]+" in"), "start it without resumed shell")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		return hint.With(errors.New("tmux is not installed, and resumed can type into an agent only there"), "install the package tmux, or start "+argv[0]+" as it is")
	}
	return c.showShell(append([]string{program}, argv[1:]...))
}

// listShells prints how to attach to the agents that still run.
func (c *cli) listShells(left []tmux.Left) error {
	if len(left) == 0 {
		return c.show("No agent that resumed shell started is running.\n")
	}
	var b strings.Builder
	for _, s := range left {
		fmt.Fprintf(&b, "tmux -L %s attach   # %s in %s\n", s.Server, sanitize.Line(s.Program), sanitize.Line(s.Dir))
	}
	return c.show(b.String())
}

// showShell runs the command in its own tmux, in this terminal, until it ends or the user detaches.
func (c *cli) showShell(argv []string) error {
	note, err := os.MkdirTemp("", "resumed-shell-")
	if err != nil {
		return fmt.Errorf("make a directory for the exit code: %w", err)
	}
	defer os.RemoveAll(note)
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	session := tmux.Session{Server: tmux.ServerPrefix + strconv.Itoa(os.Getpid()), Dir: dir, Argv: argv, Note: note}
	show := exec.Command("tmux", session.Args()...)
	show.Stdin, show.Stdout, show.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Caught for this program only: when the window is closed the command continues to run, without a
	// message.
	closed := make(chan os.Signal, 1)
	signal.Notify(closed, syscall.SIGHUP)
	defer signal.Stop(closed)
	err = show.Run()
	code, noCode := session.ExitCode()
	switch {
	case noCode == nil:
		if left := session.LastScreen(); left != "" {
			fmt.Fprintln(c.out, sanitize.Text(left))
		}
		return finished(code, nil)
	case session.Lives():
		fmt.Fprintf(c.err, "It keeps running. To come back: tmux -L %s attach\n", session.Server)
		return nil
	case err != nil:
		return fmt.Errorf("run tmux: %w", err)
	default:
		return noCode
	}
}
