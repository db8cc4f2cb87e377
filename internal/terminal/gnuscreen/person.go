package gnuscreen

import (
	"fmt"
	"slices"
	"strings"

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

// same returns a function that returns ErrInUse if a person has pressed a key since the mark was read.
func (w *window) same(mark string) func() error {
	return func() error {
		if mark != "" && w.shown().Mark != mark {
			return terminal.ErrInUse
		}
		return nil
	}
}
