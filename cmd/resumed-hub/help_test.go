package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestEveryCommandShowsAnExampleFirst(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var help strings.Builder
		cmd.SetOut(&help)
		require.NoError(t, cmd.Help())
		before, _, found := strings.Cut(help.String(), "Usage:")
		require.True(t, found, cmd.CommandPath())
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		require.Contains(t, before, "Examples:\n"+cmd.Example, cmd.CommandPath())
		for line := range strings.SplitSeq(help.String(), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", cmd.CommandPath(), line)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&cli{out: io.Discard, err: io.Discard}).root())
}

func TestAUsageErrorIsNotAFailure(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an argument is missing":  {[]string{"remove"}, exitUsage, "resumed: NAME is missing\nTry: resumed hub remove --help\n"},
		"an unknown flag":         {[]string{"init", "--nonsense"}, exitUsage, "resumed: hub init has no flag --nonsense\nTry: resumed hub init --help\n"},
		"two ways to say who":     {[]string{"invite", "laptop", "--uses", "3"}, exitUsage, "Try: resumed hub invite --help\n"},
		"a value that is none":    {[]string{"--log-format", "xml"}, exitUsage, "--log-format \"xml\": must be auto, text or json"},
		"there is no hub to list": {[]string{"list"}, exitFailed, "resumed: there is no hub in "},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			code := run(t.Context(), append(tt.args, "--dir", t.TempDir()), &out, &errOut)
			require.Equal(t, tt.code, code)
			require.Contains(t, errOut.String(), tt.want)
			require.Empty(t, out.String())
		})
	}
}
