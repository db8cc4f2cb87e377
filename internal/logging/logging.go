// Package logging makes the logger of a program, for a terminal, a file or the journal, and detects
// what an output supports.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"resumed/internal/sanitize"
)

// New returns a logger for that output: colours on a terminal, lines with priorities in the journal,
// else text, or JSON if the format is "json".
func New(out io.Writer, level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	switch {
	case isJournal(out, os.Getenv("JOURNAL_STREAM")):
		out, options.ReplaceAttr = prioritised{out}, withoutTime
	case format != "text" && format != "json" && IsTerminal(out):
		return slog.New(tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !Colours(out), ReplaceAttr: clean}))
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(Escape(out), options))
	}
	return slog.New(slog.NewTextHandler(Escape(out), options))
}

// CheckFlags refuses invalid values of --log-level and --log-format; "" is the default.
func CheckFlags(level, format string) error {
	switch {
	case !slices.Contains([]string{"", "debug", "info", "warn", "error"}, level):
		return fmt.Errorf("--log-level %q: must be debug, info, warn or error", level)
	case !slices.Contains([]string{"", "auto", "text", "json"}, format):
		return fmt.Errorf("--log-format %q: must be auto, text or json", format)
	}
	return nil
}

// Escape returns a writer for JSON or slog's text that escapes control characters, so that no record
// can control the terminal. Each write must be a whole record.
func Escape(out io.Writer) io.Writer { return escaping{out} }

type escaping struct{ io.Writer }

func (w escaping) Write(record []byte) (int, error) {
	if _, err := w.Writer.Write(sanitize.Escape(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Colours reports whether output to w may have colours.
func Colours(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// clean removes control characters, which tint does not escape, from the message and the attributes.
func clean(_ []string, a slog.Attr) slog.Attr {
	a.Key = harmless(a.Key)
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(harmless(a.Value.String()))
	case slog.KindAny:
		if _, ok := a.Value.Any().(slog.Level); !ok {
			a.Value = slog.StringValue(harmless(fmt.Sprint(a.Value.Any())))
		}
	}
	return a
}

// harmless removes control characters, also those that tint would make: it turns a quoted \x1b into a
// real escape.
func harmless(text string) string {
	return strings.ReplaceAll(sanitize.Line(text), `\x1b`, `\u001b`)
}
