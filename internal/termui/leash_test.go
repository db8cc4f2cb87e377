package termui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"resumed/internal/resume/view"
)

func TestACommandLineIsBrokenBetweenWordsOnly(t *testing.T) {
	argv := strings.Fields("claude -p --disallowedTools Bash --append-system-prompt-file /very/long/path/to/a/file --max-turns 3 --strict-mcp-config continue")
	shown := strings.Join(Renderer{Width: 40}.Leash(view.Session{Started: view.Start{Argv: argv, Seen: true}}), "\n")
	require.Equal(t, argv, strings.Fields(shown)[len(strings.Fields("Started with")):], "every word is whole")
	for line := range strings.Lines(shown) {
		require.LessOrEqual(t, ansi.StringWidth(strings.TrimRight(line, "\n")), 40, line)
	}
}

func TestLongLinesAreBrokenBetweenWords(t *testing.T) {
	text := "notices cannot be shown here: nobody is logged in to a desktop here"
	require.Equal(t, []string{text}, Wrap(text, 0), "a pipe gets it in one line")
	lines := Wrap(text, 30)
	require.Equal(t, text, strings.Join(lines, " "))
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 30)
	}
	require.Empty(t, Wrap("", 30))
	require.Empty(t, Wrap("", 0))
}
