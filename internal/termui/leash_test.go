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
	shown := Page{Width: 40}.Leash(view.Session{Started: view.Start{Argv: argv, Seen: true}})
	require.Equal(t, argv, strings.Fields(shown)[len(strings.Fields("Started with")):], "every word is whole")
	for line := range strings.Lines(shown) {
		require.LessOrEqual(t, ansi.StringWidth(strings.TrimRight(line, "\n")), 40, line)
	}
}
