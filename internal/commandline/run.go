package commandline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"resumed/internal/hint"
	"resumed/internal/logging"
	"resumed/internal/plain"
	"resumed/internal/sanitize"
)

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

// whoMay says how to find out who may use a file that this user may not; "": it is another error.
func whoMay(err error) string {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok || file.Op == "fork/exec" || !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "ls -ld " + sanitize.ShellWord(file.Path) + ", which shows who may use it"
}

// Execute runs the command that the arguments name, and returns it with its error. An error before the
// command starts is a UsageError. LogFlags must be called first.
func Execute(ctx context.Context, root *cobra.Command, args []string, out, errOut io.Writer) (*cobra.Command, error) {
	started, check := false, root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := checkGroups(cmd); err != nil {
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

// Report prints the error, and its hint, or else what the user can try if that is not "". On a terminal its lines are as short as those of help.
func Report(out io.Writer, err error, try string) {
	text := "resumed: " + strings.ReplaceAll(sanitize.Text(plain.Text(err)), "\n", "\nresumed: ") + "\nTry: " + cmp.Or(hint.Of(err), try, whoMay(err)) // the error may contain a file name
	for line := range strings.SplitSeq(text, "\n") {
		if logging.IsTerminal(out) && utf8.RuneCountInString(line) > width && !strings.HasPrefix(line, " ") { // else it is a command
			line = fill(line)
		}
		if line != "resumed: " && line != "Try: " {
			fmt.Fprintln(out, line)
		}
	}
}
