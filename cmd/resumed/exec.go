package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/backoff"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/execrun"
	"resumed/internal/hint"
	"resumed/internal/lease"
	"resumed/internal/limit"
	"resumed/internal/logging"
	"resumed/internal/prompt"
	"resumed/internal/resume"
	"resumed/internal/starts"
)

type executing struct {
	agent, policy, timeout string
	retryOn                []string
}

func (c *cli) execCommand() *cobra.Command {
	var e executing
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG…]",
		Short: "Run a command and try it again when a limit stops it",
		Long: "Runs a command. If it fails, its exit code and its last output say why. If waiting can\n" +
			"help, exec waits as long as the provider asked, or as the policy says, and runs the command\n" +
			"again; any other failure is returned at once. A known agent continues in the same session:\n" +
			strings.Join(headless(), ", ") + ".\n\n" +
			"The exit code is the command's own, or 75 if no retries are left or somebody else went on\n" +
			"with the session. A signal is passed to the command while it runs, and ends a wait; what you\n" +
			"end with Ctrl-C is not continued by a daemon either.",
		Example: "  resumed exec -- claude -p \"fix the tests\"\n" +
			"  resumed exec --policy api --timeout 10m -- curl -sSf https://example.org/\n" +
			"  resumed exec --retry-on network,timeout -- make deploy",
		RunE: func(cmd *cobra.Command, args []string) error { return c.exec(cmd.Context(), e, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // flags after the command belong to the command
	flags.StringVar(&e.agent, "agent", "", "`NAME` of the agent (default: recognised by the program's name)")
	flags.StringVar(&e.policy, "policy", "", "`NAME` of a policy (default: the agent's, the class's, or [backoff])")
	flags.StringVar(&e.timeout, "timeout", "", "the longest `DURATION` of one run")
	flags.StringSliceVar(&e.retryOn, "retry-on", nil, "`CLASS`es of failures to retry, separated by commas (default: where waiting can help)")
	complete(cmd, "agent", builtinAgents()...)
	complete(cmd, "retry-on", classNames()...)
	return cmd
}

func classNames() []string {
	var names []string
	for _, class := range limit.Classes() {
		if class != limit.Cancelled {
			names = append(names, class.String())
		}
	}
	return names
}

func (c *cli) exec(ctx context.Context, e executing, argv []string) error {
	cfg, _, err := c.load()
	if err != nil {
		return err
	}
	o, err := e.options(cfg)
	if err != nil {
		return usageError(err)
	}
	stateDir, err := dirs.State(os.Getenv)
	if err != nil {
		return err
	}
	if o.Dir, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	signals := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(sig) { // nohup ignores it on purpose
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	o.Argv, o.Signals = argv, signals
	o.LeaseDirs, o.Starts = dirs.Leases(os.Getenv, stateDir), starts.In(control.SocketDir(os.Getenv))
	o.Stdin, o.Stdout, o.Stderr = os.Stdin, os.Stdout, os.Stderr
	o.Messages, o.Live = c.err, logging.IsTerminal(c.err)
	if o.Agents, err = agents.MakeAll(cfg); err != nil {
		o.Warn(err)
	}
	o.Cancelled = func(agent, session string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_, _ = c.client().Do(ctx, resume.Key{Agent: agent, ID: session}.String(), control.Cancel) // a daemon that does not answer finds the note
	}
	// Not ctx: a signal goes to the command first.
	code, err := execrun.Run(context.WithoutCancel(ctx), o)
	return finished(code, err)
}

// options parses the flags, and returns everything that is wrong with them.
func (e executing) options(cfg config.Config) (execrun.Options, error) {
	o := execrun.Options{
		Agent: e.agent,
		Prompt: func(v limit.Verdict, attempt int) string {
			return prompt.Fill(cfg.Resume.Prompts().Of(v.Class), prompt.Facts{Class: v.Class, Reset: v.Reset.At, Attempt: attempt})
		},
		Margin:  cfg.Resume.Margin,
		MaxWait: cfg.Resume.MaxWait,
		Grace:   cfg.Resume.Grace,
	}
	var bad []error
	known := builtinAgents()
	for _, a := range cfg.Agents {
		if a.Kind == config.KindCustom {
			known = append(known, a.Name)
		}
	}
	if e.agent != "" && !slices.Contains(known, e.agent) {
		bad = append(bad, fmt.Errorf("--agent %q: must be one of %s", e.agent, strings.Join(known, ", ")))
	}
	policy, err := pickPolicy(cfg, e.policy)
	bad = append(bad, err)
	o.Policy = func(agent string, class limit.Class) backoff.Policy {
		if e.policy != "" {
			return policy
		}
		return cfg.Policy(agent, class)
	}
	if e.timeout != "" {
		if o.Timeout, err = config.ParseDuration(e.timeout); err != nil || o.Timeout <= 0 {
			bad = append(bad, fmt.Errorf("--timeout %q: must be a duration with a unit, such as 30s or 5m, and more than 0s", e.timeout))
		}
	}
	for _, name := range e.retryOn {
		class, err := limit.ParseClass(strings.TrimSpace(name))
		if err != nil || class == limit.Cancelled {
			bad = append(bad, fmt.Errorf("--retry-on %q: must be one of %s", name, strings.Join(classNames(), ", ")))
		}
		o.RetryOn = append(o.RetryOn, class)
	}
	return o, errors.Join(bad...)
}

func builtinAgents() []string {
	var names []string
	for _, b := range agents.Builtin() {
		names = append(names, b.Name)
	}
	return names
}

func headless() []string {
	var runs []string
	for _, b := range agents.Builtin() {
		if b.Headless != "" {
			runs = append(runs, b.Headless)
		}
	}
	return runs
}

// finished returns the exit code, with the message about it.
func finished(code int, err error) error {
	switch {
	case err == nil && code == exitDone:
		return nil
	case err == nil:
		return exitStatus{code: code}
	}
	try := ""
	taken, _ := errors.AsType[*execrun.TakenError](err)
	switch _, held := errors.AsType[*lease.HeldError](err); {
	case taken != nil:
		try = taken.GoOn
	case held:
		try = "resumed status"
	case code == execrun.CodeNotFound:
		try = "the full path of the program"
	}
	return hint.With(exitStatus{code, err}, try)
}

type exitStatus struct {
	code int
	err  error // nil: no message
}

func (e exitStatus) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitStatus) Unwrap() error { return e.err }
