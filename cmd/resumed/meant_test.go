package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every hint can be typed, and no word that it is for is a command or a flag itself.
func TestHintsForWordsOfOtherProgramsAreCommands(t *testing.T) {
	command := regexp.MustCompile(`resumed( [a-z][a-z-]*| --?[a-z-]+| [A-Z]+| [0-9][0-9a-z]*| -)*`)
	for _, m := range meant() {
		for _, line := range command.FindAllString(m.Command, -1) {
			root := (&cli{out: io.Discard, err: io.Discard}).root()
			words := strings.Fields(line)
			if len(words) < 2 { // said of resumed itself
				continue
			}
			cmd, args, err := root.Find(words[1:])
			require.NoError(t, err, line)
			if cmd.Annotations["other program"] != "" {
				continue
			}
			require.NoError(t, cmd.ParseFlags(args), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
		}
		for said := range strings.SplitSeq(m.Words, ", ") {
			words := strings.Fields(said)
			cmd, args, err := (&cli{out: io.Discard, err: io.Discard}).root().Find(words)
			require.NoError(t, err, said)
			require.NotEmpty(t, args, "%s is a command", said)
			if name, isFlag := strings.CutPrefix(args[0], "--"); isFlag {
				require.Nil(t, cmd.Flag(name), said)
			} else if letter, isFlag := strings.CutPrefix(args[0], "-"); isFlag {
				require.Nil(t, cmd.Flags().ShorthandLookup(letter), said)
			}
		}
	}
}
