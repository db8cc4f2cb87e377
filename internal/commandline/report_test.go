package commandline

import (
	"bytes"
	"errors"
	"io"
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
	Report(&piped, err, "resumed "+long)
	require.Equal(t, "resumed: "+long+"\nresumed:   2 | kept  as it is\nTry: resumed "+long+"\n", piped.String())

	master, tty, openErr := pty.Open()
	require.NoError(t, openErr)
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with an error when nobody has the terminal open
		shown <- string(text)
	}()
	Report(tty, err, "resumed "+long)
	require.NoError(t, tty.Close())
	text := strings.ReplaceAll(<-shown, "\r", "")
	require.NoError(t, master.Close())
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, text)
	}
	require.Contains(t, text, "\nresumed:   2 | kept  as it is\nTry: resumed many ")
	require.Equal(t, strings.Fields(piped.String()), strings.Fields(text))

	piped.Reset()
	Report(&piped, errors.New(""), "")
	require.Empty(t, piped.String())
}
