package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"resumed/internal/hint"
	"resumed/internal/logging"
	"resumed/internal/sanitize"
)

// UsageError is a wrong command line.
type UsageError struct{ Err error }

func (u UsageError) Error() string { return u.Err.Error() }
func (u UsageError) Unwrap() error { return u.Err }

// LogFlags adds the logger's flags to every command of a program.
func LogFlags(root *cobra.Command, level, format *string) {
	flags := root.PersistentFlags()
	flags.StringVar(level, "log-level", "", "debug | info | warn | error")
	flags.StringVar(format, "log-format", "", "auto | text | json")
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"auto", "text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := logging.CheckFlags(*level, *format); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// Execute runs the command that the arguments name, and returns it with its error. An error before the
// command starts is a UsageError. LogFlags must be called first.
func Execute(ctx context.Context, root *cobra.Command, args []string, out, errOut io.Writer) (*cobra.Command, error) {
	started, check := false, root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.ValidateFlagGroups(); err != nil {
			return err
		}
		started = true
		return check(cmd, args)
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = UsageError{err}
	}
	return cmd, err
}

// Report prints the error, and what the user can try if it is not "". On a terminal its lines are as short as those of help.
func Report(out io.Writer, err error, try string) {
	text := "resumed: " + strings.ReplaceAll(sanitize.Text(err.Error()), "\n", "\nresumed: ") + "\nTry: " + try // the error may contain a file name
	for line := range strings.SplitSeq(text, "\n") {
		if logging.IsTerminal(out) && utf8.RuneCountInString(line) > width && !strings.HasPrefix(line, " ") { // else it is a command
			line = fill(line)
		}
		if line != "resumed: " && line != "Try: " {
			fmt.Fprintln(out, line)
		}
	}
}

// checkArguments makes every command accept the arguments in its usage line. Errors name what is
// missing, unexpected or unknown.
func checkArguments(cmd *cobra.Command) {
	switch {
	case cmd.HasSubCommands():
		cmd.Args = knowsCommand
		if !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	case cmd.Args == nil:
		cmd.Args = asUsed
	}
	for _, sub := range cmd.Commands() {
		checkArguments(sub)
	}
}

// asUsed checks arguments against the usage line: WORD is required, [WORD] is optional, [WORD…] can be
// repeated.
func asUsed(cmd *cobra.Command, args []string) error {
	var needed []string
	most := 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case word == "[flags]" || word == "--":
		case strings.HasSuffix(word, "…]"):
			most = math.MaxInt
		case strings.HasPrefix(word, "["):
			most++
		default:
			needed = append(needed, word)
			most++
		}
	}
	switch {
	case len(args) < len(needed):
		return fmt.Errorf("%s is missing", needed[len(args)])
	case len(args) > most:
		return fmt.Errorf("unexpected argument %q", args[most])
	}
	return nil
}

// UnknownCommandError names the unknown command, and what the user can try.
type UnknownCommandError struct{ Command, Try string }

func (e *UnknownCommandError) Error() string { return fmt.Sprintf("unknown command %q", e.Command) }

// knowsCommand refuses an argument that is not a subcommand.
func knowsCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	var tries []string
	if cmd.HasParent() && slices.Contains([]string{"list", "ls", "show"}, args[0]) { // such as queue list
		tries = append(tries, cmd.CommandPath())
	}
	for _, name := range append(cmd.SuggestionsFor(args[0]), "--help") {
		tries = append(tries, cmd.CommandPath()+" "+name)
	}
	_, name, _ := strings.Cut(cmd.CommandPath()+" "+args[0], " ") // without the name of the program
	return &UnknownCommandError{Command: name, Try: strings.Join(tries, ", or ")}
}

// flagError adds the values that a flag accepts.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return hint.With(err, likeFlag(cmd, unknown.GetSpecifiedName()))
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	want := map[string]string{"bool": "true or false", "int": "a number"}[invalid.GetFlag().Value.Type()]
	if want == "" {
		return err
	}
	return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}

// likeFlag returns the command with a flag that has nearly this name; empty: there is none.
func likeFlag(cmd *cobra.Command, name string) string {
	named := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		named.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	for _, like := range named.SuggestionsFor(name) {
		return cmd.CommandPath() + " --" + like
	}
	return ""
}
