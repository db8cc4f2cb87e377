//go:build !windows

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"resumed/internal/sanitize"
)

// newLogger returns a logger for that output: tint on a terminal, text that
// suits the journal elsewhere, JSON where asked for.
func newLogger(out io.Writer, level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if isJournal(out, os.Getenv("JOURNAL_STREAM")) {
		return newJournalLogger(out, options, format)
	}
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(escaping{out}, options))
	case format != "text" && isTerminal(out):
		handler := tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !colours(out)})
		return slog.New(cleaning{handler})
	}
	return slog.New(slog.NewTextHandler(escaping{out}, options))
}

// escaping stands before an output of JSON or of slog's text: what is written
// there commands no terminal. It is given whole records.
type escaping struct{ io.Writer }

func (w escaping) Write(record []byte) (int, error) {
	if _, err := w.Writer.Write(sanitize.Escape(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colours reports whether what is written there may be coloured.
func colours(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// cleaning stands before a handler that writes to a terminal without escaping.
type cleaning struct{ slog.Handler }

func (h cleaning) Handle(ctx context.Context, record slog.Record) error {
	safe := slog.NewRecord(record.Time, record.Level, harmless(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		safe.AddAttrs(cleanAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, safe)
}

func (h cleaning) WithAttrs(attrs []slog.Attr) slog.Handler {
	safe := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		safe[i] = cleanAttr(a)
	}
	return cleaning{h.Handler.WithAttrs(safe)}
}

func (h cleaning) WithGroup(name string) slog.Handler {
	return cleaning{h.Handler.WithGroup(harmless(name))}
}

func cleanAttr(a slog.Attr) slog.Attr {
	a.Key = harmless(a.Key)
	switch value := a.Value.Resolve(); value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(harmless(value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(harmless(fmt.Sprint(value.Any())))
	case slog.KindGroup:
		members := value.Group()
		safe := make([]slog.Attr, len(members))
		for i, member := range members {
			safe[i] = cleanAttr(member)
		}
		a.Value = slog.GroupValue(safe...)
	}
	return a
}

// harmless returns text that stays so: of these four characters tint makes an
// escape itself, when it has quoted them.
func harmless(text string) string {
	return strings.ReplaceAll(sanitize.Line(text), `\x1b`, `\u001b`)
}
