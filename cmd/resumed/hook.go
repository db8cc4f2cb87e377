package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/runner"
	"resumed/internal/starts"
	"resumed/internal/usage"
)

// An agent waits for its hooks and, after each answer, for its status line: these limit what the daemon
// takes of that. If a busy machine is slow to record a start, the session would need its user's word.
const (
	longestHook  = 1 << 20
	answerWithin = 500 * time.Millisecond
	nudgeWithin  = 2 * time.Second         // the daemon looks at the caller, which must live until then
	hookWithin   = 2500 * time.Millisecond // the plugin's hooks end after three seconds
)

func (c *cli) hookCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hook AGENT",
		Hidden: true,
		Short:  "Tell the daemon that something happened in an agent",
		Long: "Agents call this by themselves, once the plugin is installed in them (docs/plugin.md), with\n" +
			"one JSON object as the standard input. It records how the session was started, and tells the\n" +
			"daemon to look at it and whether it asks for a permission. AGENT is plugin where several agents\n" +
			"share one plugin. It prints nothing, waits two seconds at most for the daemon and never\n" +
			"fails, with or without one.",
		Example: "  echo '{\"session_id\": \"…\", \"hook_event_name\": \"SessionStart\"}' |\n    resumed hook claude-code",
		Args:    cobra.ArbitraryArgs,
		// Arguments that an agent appends are neither flags of ours nor errors.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if len(args) == 0 {
				return nil
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.nudge(cmd.Context(), args[0], cmd.InOrStdin())
			}()
			select {
			case <-done:
			case <-time.After(hookWithin):
			}
			return nil
		},
	}
}

// nudge records what the agent was started with, also for a daemon that runs later, and tells the
// daemon which session to check. Errors are not printed: an agent shows the output of
// its hooks.
func (c *cli) nudge(ctx context.Context, agent string, in io.Reader) {
	var said json.RawMessage // it ends by itself: an agent may leave the pipe open
	_ = json.NewDecoder(io.LimitReader(in, longestHook)).Decode(&said)
	agent, told := agents.ReadHook(agent, said, os.Getenv)
	if agent == "" || told.Session == "" {
		return
	}
	_ = control.MarkCall(control.SocketDir(os.Getenv), agent)
	recordStart(resume.Key{Agent: agent, ID: told.Session}, procfs.Proc.BehindShells(os.Getppid()))
	ctx, cancel := context.WithTimeout(ctx, nudgeWithin)
	defer cancel()
	_ = c.client().SendHookEvent(ctx, control.HookEvent{Agent: agent, Session: told.Session, Transcript: told.Transcript, Asks: told.Asks, Answered: told.Answered})
}

func recordStart(key resume.Key, pid int) bool {
	start := agents.StartOf(key.Agent, pid)
	return start != nil && starts.In(control.SocketDir(os.Getenv)).Put(key, start) == nil
}

// keepCommand runs a command and stores its exit status where there is no shell to do that.
func (c *cli) keepCommand() *cobra.Command {
	return &cobra.Command{
		Use:                runner.KeepCommand + " STATUS PROGRAM [ARG…]",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := runner.RunWithStatus(args[0], args[1:]); code != 0 {
				return exitStatus{code: code}
			}
			return nil
		},
	}
}

func (c *cli) statuslineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "statusline [-- COMMAND [ARG ...]]",
		Short: "Collect usage numbers from Claude Code's status line",
		Long: "After each answer, Claude Code tells its status line command how much of your allowances\n" +
			"is used. This command passes that to the daemon, for `resumed usage`, and gives the same\n" +
			"input to the status line command that you had. Without one it prints what is used. Your\n" +
			"status line works the same with or without a daemon.\n\n" +
			"In Claude Code's settings.json:\n\n" +
			"  \"statusLine\": {\n    \"type\": \"command\", \"command\": \"resumed statusline -- YOUR COMMAND\"\n  }",
		Example: "  resumed statusline\n  resumed statusline -- ~/.claude/statusline.sh",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			said, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), longestHook))
			if err != nil {
				return err
			}
			session, readings := agents.StatusLine(said, time.Now())
			var telling sync.WaitGroup
			telling.Go(func() {
				ctx, cancel := context.WithTimeout(cmd.Context(), answerWithin)
				defer cancel()
				if session != "" && len(readings) > 0 {
					_ = c.client().AddReadings(ctx, session, readings) // without a daemon it is dropped
				}
			})
			defer telling.Wait()
			if len(args) > 0 {
				return c.passOn(cmd.Context(), args, said)
			}
			meters, now := usage.NewMeters(nil), time.Now()
			meters.Add("", now, readings...)
			return c.show(humanize.Used(meters.Windows("", now)) + "\n")
		},
	}
}

// passOn runs the user's own status line command with the agent's input.
func (c *cli) passOn(ctx context.Context, argv []string, said []byte) error {
	own := exec.CommandContext(ctx, argv[0], argv[1:]...)
	own.Stdin, own.Stdout, own.Stderr = bytes.NewReader(said), c.out, c.err
	err := own.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitStatus{code: exit.ExitCode()}
	}
	return err
}
