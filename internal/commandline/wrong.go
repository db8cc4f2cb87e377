package commandline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"resumed/internal/hint"
	"resumed/internal/sanitize"
)

// UsageError is a wrong command line.
type UsageError struct{ Err error }

func (u UsageError) Error() string { return u.Err.Error() }
func (u UsageError) Unwrap() error { return u.Err }

// Meant is what people try who know other programs: words and flags that do not exist here, such as
// "queue ls, logs --tail", and the command that does that.
type Meant struct{ Words, Command string }

// meant prefixes the annotations of the root command that have the Commands of Meant, by one of the Words.
const meant = "meant "

func annotate(root *cobra.Command, all []Meant) {
	if root.Annotations == nil {
		root.Annotations = make(map[string]string)
	}
	for _, m := range all {
		for words := range strings.SplitSeq(m.Words, ", ") {
			root.Annotations[meant+words] = m.Command
		}
	}
}

// meantBy returns the command that does what the words of a command and these arguments say; "": none is known.
func meantBy(cmd *cobra.Command, word string, args []string) string {
	_, path, _ := strings.Cut(cmd.CommandPath()+" "+word, " ") // without the name of the program
	for _, words := range []string{path, word} {               // a flag may mean the same everywhere
		if command := cmd.Root().Annotations[meant+words]; command != "" && (words == path || strings.HasPrefix(word, "-")) {
			return withArguments(command, args)
		}
	}
	return ""
}

// withArguments puts the arguments that were typed into the places for them.
func withArguments(command string, args []string) string {
	if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return sanitize.ShellWord(a) != a || strings.HasPrefix(a, "-") }) {
		return command
	}
	typed := strings.Join(args, " ")
	return strings.NewReplacer("SESSION", typed, "TASK", typed, "NAME", typed, "PROMPT", typed).Replace(command)
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

// asUsed checks arguments against the usage line: WORD is required, [WORD] is optional, WORD… and
// [WORD…] can be repeated.
func asUsed(cmd *cobra.Command, args []string) error {
	var needed, taken []string
	most := 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if word == "[flags]" || word == "--" {
			continue
		}
		taken = append(taken, word)
		if most++; strings.HasSuffix(strings.TrimSuffix(word, "]"), "…") {
			most = math.MaxInt - 1
		}
		if !strings.HasPrefix(word, "[") {
			needed = append(needed, strings.TrimSuffix(word, "…"))
		}
	}
	switch {
	case len(args) < len(needed):
		return fmt.Errorf("%s is missing", needed[len(args)])
	case len(args) > most && most == 0:
		return fmt.Errorf("unexpected argument %q: %s takes none", args[0], cmd.CommandPath())
	case len(args) > most:
		return fmt.Errorf("unexpected argument %q: %s takes %s and no more", args[most], cmd.CommandPath(), strings.Join(taken, " "))
	}
	return nil
}

// mostListed is how many commands an error lists.
const mostListed = 8

// knowsCommand refuses an argument that is not a subcommand.
func knowsCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	_, name, _ := strings.Cut(cmd.CommandPath()+" "+args[0], " ") // without the name of the program
	wrong := fmt.Sprintf("unknown command %q", name)
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	if len(known) <= mostListed {
		wrong += "; there is " + strings.Join(known, ", ")
	}
	var tries []string
	if command := meantBy(cmd, args[0], args[1:]); command != "" {
		tries = append(tries, command)
	} else {
		cmd.SuggestionsMinimumDistance = 2
		for _, name := range cmd.SuggestionsFor(args[0]) {
			tries = append(tries, cmd.CommandPath()+" "+name)
		}
	}
	return hint.With(UsageError{errors.New(wrong)}, strings.Join(append(tries, cmd.CommandPath()+" --help"), ", or "))
}

// flagError says in words of this program what is wrong with a flag, and what it accepts.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if unknown := knowsCommand(cmd, cmd.Flags().Args()); unknown != nil {
			return unknown // its flags are unknown too
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		flag := missing.GetFlag()
		_, usage := pflag.UnquoteUsage(flag)
		return fmt.Errorf("--%s needs a value: %s", flag.Name, usage)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want, known := wanted[invalid.GetFlag().Value.Type()]
		if !known {
			want = errors.Unwrap(invalid).Error()
		}
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), want)
	}
	if form, ok := errors.AsType[*pflag.InvalidSyntaxError](err); ok {
		return fmt.Errorf("%q is no flag: a flag is --NAME, --NAME=VALUE or a letter such as -h", form.GetSpecifiedFlag())
	}
	return err
}

// wanted is what a value must be, by the type of its flag. Flags of other types say it themselves.
var wanted = map[string]string{"bool": "must be true or false", "int": "must be a whole number", "float64": "must be a number, such as 80 or 0.5"}

func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	flag, try := "--"+unknown.GetSpecifiedName(), ""
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		flag = "-" + string([]rune(unknown.GetSpecifiedName())[:1])
	} else {
		try = likeFlag(cmd, unknown.GetSpecifiedName())
	}
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	err := fmt.Errorf("%s has no flag %s", cmp.Or(name, cmd.Name()), flag)
	if known := meantBy(cmd, flag, cmd.Flags().Args()); known != "" {
		try = known + ", or " + cmd.CommandPath() + " --help"
	}
	if try == "" {
		return err
	}
	return hint.With(err, try)
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

// exclusive is cobra's annotation of flags that do not go together: each value is the names of a group.
const exclusive = "cobra_annotation_mutually_exclusive"

// checkGroups names the flags that do not go together.
func checkGroups(cmd *cobra.Command) error {
	if cmd.ValidateFlagGroups() == nil {
		return nil
	}
	set := make(map[string][]string)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusive] {
			set[group] = append(set[group], "--"+f.Name)
		}
	})
	for _, flags := range set {
		if len(flags) > 1 {
			return fmt.Errorf("%s do not go together: give one of them", strings.Join(flags, " and "))
		}
	}
	return cmd.ValidateFlagGroups()
}
