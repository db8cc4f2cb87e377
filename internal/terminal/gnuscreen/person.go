package gnuscreen

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/procfs"
	"resumed/internal/terminal"
)

// shown returns what is known of the keys that people press in GNU screen: when it last read from each
// of the terminals that show it. Where it is not known which of them the server has open (it runs with
// the rights of a group), all count that show a GNU screen. Nothing is known if there is none, or if the kernel
// does not tell.
func (w *window) shown() (input terminal.Input) {
	pids, err := procfs.Proc.PIDs()
	if err != nil {
		return terminal.Input{}
	}
	open, err := procfs.Proc.Open(w.server)
	private := err != nil || len(open) == 0
	var reads []string
	for _, pid := range pids {
		stat, err := procfs.Proc.Stat(pid)
		if err != nil || stat.TTY == 0 || procfs.Proc.Status(pid)["Name"] != "screen" {
			continue
		}
		path := fmt.Sprintf("/dev/pts/%d", stat.TTY&0xff|stat.TTY>>12&0xfff00)
		if number, err := procfs.Terminal(path); err != nil || number != stat.TTY {
			return terminal.Input{}
		}
		if !private && !slices.ContainsFunc(open, func(f procfs.File) bool { return f.Name == path }) {
			continue
		}
		at, err := procfs.LastRead(path)
		if err != nil {
			return terminal.Input{}
		}
		reads = append(reads, fmt.Sprintf("%s %d", path, at.UnixNano()))
		if at = at.Add(terminal.ReadEvery); at.After(input.At) {
			input.At = at
		}
	}
	slices.Sort(reads)
	input.Mark = strings.Join(slices.Compact(reads), ",")
	return input
}

// comments are lines that the server skips, more of them than fit into a pipe.
var comments = strings.Repeat(strings.Repeat("#", 127)+"\n", 600)

// readPatience is how long the server may take until it reads a file of commands.
const readPatience = 5 * time.Second

// stuff types if the mark is the given one. The server reads the command from a pipe, and reads no keys
// of anybody until the pipe is closed: in the meantime the mark is compared. If this process dies, the
// pipe is closed too.
func (w *window) stuff(ctx context.Context, text, mark string) error {
	if mark == "" {
		return w.do(ctx, "stuff", text)
	}
	if err := w.source(ctx, func(commands io.Writer) error {
		if w.shown().Mark != mark {
			return terminal.ErrInUse
		}
		_, err := fmt.Fprintf(commands, "at %s# stuff \"%s\"\n", w.number, strings.ReplaceAll(quoted(text), `"`, `\"`))
		return err
	}); err != nil {
		return err
	}
	return w.present(ctx)
}

// source lets the server carry out the commands that are written, and do nothing else while they are
// written.
func (w *window) source(ctx context.Context, write func(io.Writer) error) error {
	read, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer pipe.Close()
	path := procfs.Proc.Path(os.Getpid(), "fd", fmt.Sprint(read.Fd()))
	if _, err := w.call(ctx, "-X", "source", path); err != nil {
		return err
	}
	if err := pipe.SetWriteDeadline(time.Now().Add(readPatience)); err != nil {
		return err
	}
	// When all of it is written, the server has begun to read.
	if _, err := io.WriteString(pipe, comments); err != nil {
		return &terminal.Refusal{Why: "its GNU screen does not read the commands of resumed"}
	}
	return write(pipe)
}
