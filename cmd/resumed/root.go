// Command resumed continues sessions of coding agents that a limit stopped: it waits as long as the
// provider asked, continues the same session, and notifies a person when that does not help.
package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"resumed/internal/agents"
	"resumed/internal/buildinfo"
	"resumed/internal/commandline"
	"resumed/internal/config"
	"resumed/internal/control"
	"resumed/internal/hint"
	"resumed/internal/sanitize"
	"resumed/internal/service"
	"resumed/internal/termui"
)

func main() { commandline.Main((&cli{out: os.Stdout, err: os.Stderr}).root, run) }

// Exit codes, as documented.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitNoDaemon  = 3
	exitNoSession = 4
)

type cli struct {
	out, err  io.Writer
	configArg string
	logLevel  string
	logFormat string
	json      bool
	command   string // the command that failed, as people type it
}

func usageError(err error) error { return commandline.UsageError{Err: err} }

// errSilent ends with exit code 1 without a message.
var errSilent = errors.New("")

// run is the whole program, without its process.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	c := &cli{out: out, err: errOut}
	cmd, err := commandline.Execute(ctx, c.root(), args, out, errOut)
	if err == nil {
		return exitDone
	}
	c.command = cmd.CommandPath()
	return c.report(err)
}

func (c *cli) report(err error) int {
	code, try := exitFailed, ""
	problem, badConfig := errors.AsType[*config.Problem](err)
	_, badUsage := errors.AsType[commandline.UsageError](err)
	status, ended := errors.AsType[exitStatus](err)
	switch {
	case ended:
		code = status.code
	case badUsage:
		code, try = exitUsage, c.command+" --help"
	case badConfig:
		code, try = exitUsage, "resumed config check"
		switch {
		case problem.Env != "":
			try = "correct or unset " + problem.Env
		case problem.File != "":
			try = toCorrect(problem.File)
		}
	case errors.Is(err, control.ErrRefused):
		code = exitUsage
	case errors.Is(err, control.ErrAmbiguous):
		try = "one of them by more of its id: resumed status"
	case errors.Is(err, control.ErrNoDaemon):
		code, try = exitNoDaemon, service.HowToStart()
	case errors.Is(err, control.ErrHung):
		try = "systemctl --user restart resumed, or restart the daemon yourself: sessions and waits are kept"
	case errors.Is(err, control.ErrNoSession):
		code, try = exitNoSession, "resumed status --all"
	}
	commandline.Report(c.err, err, try)
	return code
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "resumed",
		Version: buildinfo.About("resumed"),
		Short:   "Continue coding agents that a limit stopped",
		Long: "resumed watches the sessions of coding agents, finds out why each one stopped, waits as\n" +
			"long as the provider asked, continues the same session and tells you when that does\n" +
			"not help. It never works around a limit and never gives more permissions.",
		Example: "  resumed demo      see it work, in ten seconds\n" +
			"  resumed run       run the daemon in this terminal\n" +
			"  resumed status    see which sessions wait",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          c.greet,
	}
	root.PersistentFlags().StringVar(&c.configArg, "config", "", "configuration `FILE`")
	commandline.LogFlags(root, &c.logLevel, &c.logFormat)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"See what happens", []*cobra.Command{c.statusCommand(), c.usageCommand(), c.historyCommand(), c.logsCommand(), c.explainCommand(), c.openCommand()}},
		{"Act", []*cobra.Command{c.retryCommand(), c.cancelCommand(), c.pauseCommand(), c.unpauseCommand(), c.queueCommand(), c.execCommand(), c.shellCommand()}},
		{"Set up", []*cobra.Command{c.runCommand(), c.installCommand(), c.uninstallCommand(), c.configCommand(), c.notifyCommand(), c.doctorCommand(), c.fleetCommand(), c.hubCommand()}},
		{"More", []*cobra.Command{c.demoCommand(), c.backoffCommand(), c.statuslineCommand(), c.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("More")
	root.SetCompletionCommandGroupID("More")
	root.AddCommand(c.hookCommand(), c.demoAgentCommand(), c.keepCommand(), c.leadShellCommand()) // called by programs
	commandline.Prepare(root, meant())
	c.addCompletion(root)
	return root
}

// greet is resumed without a command: a short status if a daemon runs, else a short help.
func (c *cli) greet(cmd *cobra.Command, _ []string) error {
	status, err := c.client().Status(cmd.Context(), false)
	switch {
	case errors.Is(err, control.ErrHung):
		return err
	case err != nil:
		return cmd.Help()
	}
	return c.show(c.page().Status(status))
}

// load loads the configuration that the command line names, or the one that is found.
func (c *cli) load() (config.Config, string, error) {
	path, err := config.Find(c.configArg, os.Getenv)
	if err != nil {
		return config.Config{}, "", hint.With(usageError(err), "another file, or resumed config init")
	}
	cfg, err := config.Load(path, agents.Known())
	if errors.Is(err, syscall.EISDIR) {
		return cfg, path, hint.With(usageError(err), "another file, or resumed config init")
	}
	if errors.Is(err, fs.ErrPermission) {
		return cfg, path, hint.With(usageError(err), "ls -ld "+sanitize.ShellWord(path)+", which shows who may read it")
	}
	if _, told := errors.AsType[*config.Problem](err); err != nil && !told { // it cannot be read
		err = toMend(err, path)
	}
	return cfg, path, err
}

func (c *cli) client() *control.Client {
	return control.NewClient(control.SocketDir(os.Getenv))
}

func version() string { return buildinfo.This().Version }

func (c *cli) versionCommand() *cobra.Command {
	return c.jsonFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built from",
		Example: "  resumed version\n  resumed version --json",
		RunE: func(*cobra.Command, []string) error {
			build := buildinfo.This()
			value := map[string]any{
				"version": 1, "resumed": build.Version, "commit": orNull(build.Commit), "date": orNull(build.Date),
				"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			}
			return c.print(value, func(p *termui.Printer) { p.Text(buildinfo.About("resumed") + "\n") })
		},
	})
}

// orNull returns nil, which is null in JSON, for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
