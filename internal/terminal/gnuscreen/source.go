package gnuscreen

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"resumed/internal/procfs"
)

// comments are lines that the server skips, more of them than fit into a pipe.
var comments = strings.Repeat(strings.Repeat("#", 127)+"\n", 600)

// patience is how long the server may take to read commands.
const patience = 5 * time.Second

// do lets the server carry out a command on the window, if ready returns no error, and returns when that
// is done. An error that is not a Refusal proves nothing: it may have been done.
//
// The server reads the command from a pipe, and reads no keys of anybody until the pipe is closed. If this
// process dies, the pipe is closed too. Neither a query (screen -Q) nor the command "at" is used: the server
// shows a message to the people who have the window open, and reads nothing from the program for seconds.
func (w *window) do(ctx context.Context, ready func() error, command, arg string) error {
	read, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer pipe.Close()
	dir, err := os.MkdirTemp("", "resumed-screen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // a server that is late finds nothing, and no other file of this process
	path := filepath.Join(dir, "commands")
	if err := os.Symlink(procfs.Proc.Path(os.Getpid(), "fd", fmt.Sprint(read.Fd())), path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = pipe.SetWriteDeadline(time.Now()) })()
	if _, err := w.call(ctx, "-X", "source", path); err != nil {
		return err
	}
	// When all of them are written, the server has begun to read.
	if _, err := io.WriteString(pipe, comments); err != nil {
		return fmt.Errorf("its GNU screen does not read the commands of resumed: %w", cmp.Or(ctx.Err(), err))
	}
	if err := ready(); err != nil {
		return err
	}
	// When the comments behind it are written, the server has read the command, and carried it out.
	_, err = fmt.Fprintf(pipe, "%s \"%s\"\n%s", command, quoted(arg), comments)
	return err
}

// quoted marks what the server would interpret: control characters, variables, the end of the text.
func quoted(arg string) string {
	return strings.NewReplacer(`\`, `\\`, `^`, `\^`, `$`, `\$`, `"`, `\"`).Replace(arg)
}
