//go:build !windows

package commandline

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
	for _, name := range append(cmd.SuggestionsFor(args[0]), "--help") {
		tries = append(tries, cmd.CommandPath()+" "+name)
	}
	_, name, _ := strings.Cut(cmd.CommandPath()+" "+args[0], " ") // without the name of the program
	return &UnknownCommandError{Command: name, Try: strings.Join(tries, ", or ")}
}

// flagError adds the values that a flag accepts.
func flagError(_ *cobra.Command, err error) error {
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
