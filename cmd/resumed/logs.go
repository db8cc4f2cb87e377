package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/control"
	"resumed/internal/dirs"
	"resumed/internal/hint"
	"resumed/internal/humanize"
	"resumed/internal/logging"
	"resumed/internal/resume"
	"resumed/internal/resume/view"
	"resumed/internal/runfiles"
	"resumed/internal/sanitize"
	"resumed/internal/termui"
	"resumed/internal/wake"
)

func (c *cli) logsCommand() *cobra.Command {
	follow, lines := false, 0
	cmd := &cobra.Command{
		Use:     "logs [SESSION]",
		Short:   "Show the output of a session's resumed runs",
		Long:    "Prints what the resumed runs of a session wrote, and the start of a task, oldest first:\nwhen each began, how long it took, how it ended, and its output. A prompt that was typed into a\nterminal leaves none.\n\nWithout a session it lists those that have output, newest first.",
		Example: "  resumed logs\n  resumed logs 4f2a\n  resumed logs -f 4f2a",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if follow || lines != 0 {
					return usageError(errors.New("SESSION is missing: --follow and --lines show the output of one"))
				}
				return c.listRuns()
			}
			dir, err := c.findRuns(args[0])
			if err != nil {
				return err
			}
			return c.printRuns(cmd.Context(), dir, lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new output")
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "only the last `N` lines; 0: all")
	return cmd
}

// storedRuns returns the directories with outputs, the sessions of those, and all stored sessions. It needs
// no daemon.
func storedRuns() (outputs map[resume.Key]string, resumed, known []view.Session, err error) {
	root, err := dirs.State(os.Getenv)
	if err != nil {
		return nil, nil, nil, err
	}
	if outputs, err = runfiles.Outputs(root); err != nil {
		return nil, nil, nil, err
	}
	if known, err = storedSessions(); err != nil {
		return nil, nil, nil, err
	}
	for key := range outputs {
		session := view.Session{Agent: key.Agent, ID: key.ID}
		if at := slices.IndexFunc(known, func(v view.Session) bool { return v.Key() == key }); at >= 0 {
			session = known[at]
		} else {
			known = append(known, session)
		}
		resumed = append(resumed, session)
	}
	return outputs, resumed, known, nil
}

// listRuns prints the sessions that have output, newest first.
func (c *cli) listRuns() error {
	outputs, resumed, known, err := storedRuns()
	if err != nil {
		return err
	}
	type ran struct {
		at    time.Time
		cells []termui.Cell
	}
	var all []ran
	page := c.page()
	for _, s := range resumed {
		runs := runfiles.Runs(outputs[s.Key()])
		if len(runs) == 0 {
			continue
		}
		last := runs[len(runs)-1]
		at, _, how := runfiles.RunOf(last)
		if info, err := os.Stat(last); err == nil && at.IsZero() {
			at = info.ModTime()
		}
		all = append(all, ran{at, termui.Row(shortest(known, s), sanitize.Short(humanize.Project(s), 16), strconv.Itoa(len(runs)), humanize.ShortClock(at, page.Now), sanitize.Line(how))})
	}
	if len(all) == 0 {
		return c.say("No session has output yet: no command has resumed one.")
	}
	slices.SortFunc(all, func(a, b ran) int { return b.at.Compare(a.at) })
	rows := [][]termui.Cell{termui.Head("SESSION", "DIRECTORY", "RUNS", "LAST", "HOW IT ENDED")}
	for _, r := range all {
		rows = append(rows, r.cells)
	}
	p := &termui.Printer{Renderer: page}
	p.Table(rows)
	p.Lines("", "One of them: resumed logs "+rows[1][0].Text)
	return c.show(p.String())
}

// shortest returns the shortest name of a session that commands accept.
func shortest(known []view.Session, s view.Session) string {
	for _, name := range []string{s.Name, s.ID} {
		if found, err := view.Find(known, name); err == nil && name != "" && found.Key() == s.Key() {
			return sanitize.Line(name)
		}
	}
	return sanitize.Line(s.Key().String())
}

// findRuns finds the outputs of a session by its name, also without a daemon.
func (c *cli) findRuns(name string) (string, error) {
	outputs, resumed, known, err := storedRuns()
	if err != nil {
		return "", err
	}
	found, err := view.Find(known, name)
	if errors.Is(err, control.ErrAmbiguous) {
		found, err = view.Find(resumed, name)
	}
	if err == nil && outputs[found.Key()] == "" {
		return "", hint.With(noOutput{name}, "resumed status "+sanitize.ShellWord(name)+" says why, and what comes next")
	}
	if errors.Is(err, control.ErrNoSession) {
		return "", hint.With(fmt.Errorf("no resumed run of %w", err), "resumed history "+sanitize.Line(name)+", or resumed status")
	}
	return outputs[found.Key()], err
}

// noOutput says that no command has resumed a session yet. Programs get the code for an unknown
// session, as before.
type noOutput struct{ name string }

func (e noOutput) Error() string {
	return fmt.Sprintf("%s has no output yet: no command has resumed it", sanitize.Line(e.name))
}

func (noOutput) Unwrap() error { return control.ErrNoSession }

// printRuns prints all outputs, oldest first, and with follow also what is written later.
func (c *cli) printRuns(ctx context.Context, dir string, lines int, follow bool) error {
	var text strings.Builder
	offsets := make(map[string]int64)
	if err := readNew(&text, dir, offsets); err != nil {
		return err
	}
	if err := c.printOutput(lastLines(text.String(), lines)); err != nil || !follow {
		return err
	}
	for wake.Sleep(ctx, 250*time.Millisecond) {
		text.Reset()
		if err := readNew(&text, dir, offsets); err != nil {
			return err
		}
		if err := c.printOutput(text.String()); err != nil {
			return err
		}
	}
	return nil
}

// printOutput prints an agent's output: unchanged to a file or a pipe, without control characters on a
// terminal.
func (c *cli) printOutput(text string) error {
	if logging.IsTerminal(c.out) {
		text = sanitize.Text(text)
	}
	return c.show(text)
}

// readNew appends what was written since the last call.
func readNew(text *strings.Builder, dir string, offsets map[string]int64) error {
	for _, path := range runfiles.Runs(dir) {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // an old one that was just removed
		}
		if err != nil {
			return fmt.Errorf("open output: %w", err)
		}
		offset, seen := offsets[path]
		if info, err := file.Stat(); err == nil {
			offset = min(offset, info.Size()) // its beginning was cut off
		}
		if !seen {
			fmt.Fprintf(text, "--- %s ---%s\n", runfiles.Name(path), runWords(path, time.Now()))
		}
		n, err := io.Copy(text, io.NewSectionReader(file, offset, 1<<62))
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		offsets[path] = offset + n
	}
	return nil
}

func runWords(path string, now time.Time) string {
	began, ended, how := runfiles.RunOf(path)
	words := ""
	if !began.IsZero() {
		words = " " + humanize.Clock(began, now)
	}
	if !began.IsZero() && !ended.IsZero() {
		words += ", took " + humanize.Span(ended.Sub(began))
	}
	if how != "" {
		words += ", " + how
	}
	return words
}

func lastLines(text string, n int) string {
	if n <= 0 {
		return text
	}
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
