package commandline

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

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

// Report prints the error, and what the user can try if it is not "".
func Report(out io.Writer, err error, try string) {
	if text := sanitize.Text(err.Error()); text != "" { // it may contain a file name
		fmt.Fprintln(out, "resumed:", strings.ReplaceAll(text, "\n", "\nresumed: "))
	}
	if try != "" {
		fmt.Fprintln(out, "Try:", try)
	}
}
