package agenttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/headless"
)

// ID is the session id in tests.
const ID = "4f2a1c9e-0000-4000-8000-000000000001"

// Words returns the arguments of a command line. In the line, _ stands for a blank of a prompt.
func Words(line string) []string {
	words := strings.Fields(line)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "_", " ")
	}
	return words
}

// Called is a command line of an agent, and the expected result.
type Called struct {
	Rule, Line string
	Next       string // the arguments that continue the session ID; "": not a headless run
	Session    string // named by the line
	Silent     bool   // the line has no prompt
}

// Invocations checks how an agent parses command lines.
func Invocations(t *testing.T, a headless.CommandLine, table []Called) {
	t.Helper()
	for _, c := range table {
		t.Run(c.Rule, func(t *testing.T) {
			args := Words(c.Line)
			line, ok := a.Invocation(args)
			require.Equal(t, c.Next != "", ok)
			require.Equal(t, Words(c.Line), args, "what was asked for stays")
			if !ok {
				return
			}
			require.Equal(t, c.Session, line.Session())
			require.Equal(t, !c.Silent, line.Prompted())
			next := line.Resume(headless.Continuation{Session: ID}, "continue")
			require.Equal(t, Words(strings.ReplaceAll(c.Next, "ID", ID)), next)
			next = line.Resume(headless.Continuation{Session: ID}, "-continue")
			last := next[len(next)-1]
			require.True(t, last == "--prompt=-continue" || next[len(next)-2] == "--" && last == "-continue",
				"a prompt is taken for an option: %q", next)
		})
	}
}

// Ran returns the trail of a run of that line in dir, during which does was called and which ended so.
func Ran(t *testing.T, a headless.CommandLine, line, dir string, does func(), ended headless.Ended) headless.Continuation {
	t.Helper()
	called, ok := a.Invocation(Words(line))
	require.True(t, ok)
	if ended.Session == "" {
		ended.Session = called.Session()
	}
	over := called.Track(dir)
	if does != nil {
		does()
	}
	return over(t.Context(), ended)
}

// Write writes a file and makes its parent directories.
func Write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
