package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"resumed/internal/clean"
)

// newLogger returns a logger for that output: tint on a terminal, text that
// suits the journal elsewhere, JSON where asked for.
func newLogger(out io.Writer, level slog.Leveler, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(out, options))
	case format != "text" && isTerminal(out):
		handler := tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !colours(out)})
		return slog.New(cleaning{handler})
	case os.Getenv("JOURNAL_STREAM") != "":
		options.ReplaceAttr = dropTime // the journal has its own
	}
	return slog.New(slog.NewTextHandler(out, options))
}

func dropTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
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
	safe := slog.NewRecord(record.Time, record.Level, clean.Line(record.Message), record.PC)
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
	return cleaning{h.Handler.WithGroup(clean.Line(name))}
}

func cleanAttr(a slog.Attr) slog.Attr {
	a.Key = clean.Line(a.Key)
	switch value := a.Value.Resolve(); value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(clean.Line(value.String()))
	case slog.KindAny:
		a.Value = slog.StringValue(clean.Line(fmt.Sprint(value.Any())))
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
