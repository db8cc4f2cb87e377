//go:build !windows

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/control"
	"resumed/internal/procfs"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

// longestHook limits what is read from an agent, and hookWithin how long the agent waits for a hook,
// whatever the daemon does.
const (
	longestHook = 1 << 20
	hookWithin  = 500 * time.Millisecond
)

func (c *cli) hookCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "hook AGENT [-- COMMAND [ARG ...]]",
		Hidden: true,
		Short:  "Tell the daemon that something happened in an agent",
		Long: "Agents call this by themselves, once `resumed install --hooks` has put it into their\n" +
			"settings: Claude Code as a hook, Codex as its notify program. It records how the\n" +
			"session was started, tells the daemon to look at it, and runs the notify program you had.\n" +
			"It prints nothing, takes half a second at most and never fails, with or without a daemon.",
		Example: "  resumed hook claude-code\n  resumed hook codex -- notify-send Codex",
		Args:    cobra.ArbitraryArgs,
		// Arguments that an agent appends are neither flags of ours nor errors.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			call := readCall(args)
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.nudge(cmd.Context(), call, cmd.InOrStdin())
			}()
			select {
			case <-done:
			case <-time.After(hookWithin):
			}
			call.goOn()
			return nil
		},
	}
}

// hookCall is how an agent called this program.
type hookCall struct {
	agent string
	said  string   // the last argument; "": it is on the standard input
	own   []string // the user's own hook program, with the agent's input; empty: none
}

func readCall(args []string) hookCall {
	if len(args) == 0 {
		return hookCall{}
	}
	call := hookCall{agent: args[0]}
	if rest := args[1:]; len(rest) > 0 {
		if last := rest[len(rest)-1]; strings.HasPrefix(strings.TrimSpace(last), "{") {
			call.said = last
		}
		if rest[0] == "--" && len(rest) > 1 && (call.said == "" || len(rest) > 2) {
			call.own = rest[1:]
		}
	}
	return call
}

// nudge records what the agent was started with, also for a daemon that runs later, and tells the
// daemon which session to check. Errors are not printed: an agent shows the output of
// its hooks.
func (c *cli) nudge(ctx context.Context, call hookCall, in io.Reader) {
	hook := agents.Hook(call.agent)
	if hook == nil {
		return
	}
	said := []byte(call.said)
	if len(said) == 0 && len(call.own) == 0 {
		said, _ = io.ReadAll(io.LimitReader(in, longestHook))
	}
	session, transcript := hook.Read(said)
	if session == "" {
		return
	}
	recordStart(resume.Key{Agent: call.agent, ID: session}, caller(os.Getppid()))
	_ = c.client().Nudge(ctx, control.Nudge{Agent: call.agent, Session: session, Transcript: transcript})
}

// recordStart stores what the process of a session was started with.
func recordStart(key resume.Key, pid int) bool {
	start, ok := agents.StartOf(key.Agent, pid)
	return ok && starts.In(control.SocketDir(os.Getenv)).Put(key, start) == nil
}

// caller returns the agent's process, also if it called this program through a shell.
func caller(pid int) int {
	if !slices.Contains([]string{"sh", "dash", "bash", "zsh", "busybox"}, filepath.Base(procfs.Proc.Executable(pid))) {
		return pid
	}
	if stat, err := procfs.Proc.Stat(pid); err == nil && stat.Parent > 1 {
		return stat.Parent
	}
	return pid
}

// goOn replaces this process by the user's own hook program, as if the agent had called it.
func (h hookCall) goOn() {
	if len(h.own) == 0 {
		return
	}
	if program, err := exec.LookPath(h.own[0]); err == nil {
		_ = syscall.Exec(program, h.own, os.Environ())
	}
}
