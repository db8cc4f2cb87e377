package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An image with only the program has no shell to record how a command ended; the program records it
// then, in the same format.
func TestHowACommandEndedIsNotedWithoutAShell(t *testing.T) {
	b := newBox(t)
	tests := map[string]struct {
		line   string
		code   int
		status string
	}{
		"well":                   {"true", 0, "0\n"},
		"badly":                  {"exit 3", 3, "3\n"},
		"by a signal":            {"kill -KILL $$", -1, "137\n"},
		"by a request to end":    {"kill -TERM $$", -1, "143\n"},
		"by a code that is none": {"exit 250", 250, "250\n"},
		"knowing it was begun":   {`grep -q "^pid " status && exit 5`, 5, "5\n"},
	}
	for name, tt := range tests {
		_, errOut, code := b.run("keep-status", b.path("status"), "/bin/sh", "-c", "cd "+b.home+"; "+tt.line)
		require.Equal(t, tt.code, code, name)
		require.Empty(t, errOut, name)
		require.Equal(t, tt.status, b.read("status"), name)
	}
	_, _, code := b.run("keep-status", b.path("status"), b.path("nowhere"))
	require.Equal(t, 127, code)
	require.Equal(t, "127\n", b.read("status"))
	_, _, code = b.run("keep-status", b.path("no/such/directory"), "/bin/sh", "-c", "touch "+b.path("ran"))
	require.Equal(t, 126, code, "nothing is begun that cannot be noted")
	require.NotContains(t, b.tree(), "ran")
}
