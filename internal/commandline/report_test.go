package commandline

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// An error fits the terminal of a person. A program gets it in one line.
func TestAnErrorFitsItsTerminal(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("many words ", 20))
	err := errors.New(long + "\n  2 | kept  as it is")
	var piped bytes.Buffer
	command := "\n  echo " + long
	Report(&piped, err, long+command)
	require.Equal(t, "resumed: "+long+"\nresumed:   2 | kept  as it is\nTry: "+long+command+"\n", piped.String())

	master, tty, openErr := pty.Open()
	require.NoError(t, openErr)
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with an error when nobody has the terminal open
		shown <- string(text)
	}()
	Report(tty, err, long+command)
	require.NoError(t, tty.Close())
	text := strings.ReplaceAll(<-shown, "\r", "")
	require.NoError(t, master.Close())
	text, found := strings.CutSuffix(text, command+"\n")
	require.True(t, found, "a command is one line, so that it can be copied")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, text)
	}
	require.Contains(t, text, "\nresumed:   2 | kept  as it is\nTry: many ")
	require.Equal(t, strings.Fields(piped.String()), strings.Fields(text+command))

	piped.Reset()
	Report(&piped, &fs.PathError{Op: "open", Path: "/a b", Err: fs.ErrPermission}, "")
	require.Equal(t, "resumed: /a b: permission denied\nTry: ls -ld '/a b', which shows who may use it\n", piped.String())
	piped.Reset()
	Report(&piped, errors.New(""), "")
	require.Empty(t, piped.String())
}
