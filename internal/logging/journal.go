//go:build !windows

package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
)

// isJournal reports whether out is the stream in JOURNAL_STREAM: a program that a service started may
// have another output.
func isJournal(out io.Writer, stream string) bool {
	file, ok := out.(*os.File)
	if !ok || stream == "" {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// newJournalLogger returns a logger that begins lines with their priority, for the journal, which adds
// the time and level itself.
func newJournalLogger(out io.Writer, options *slog.HandlerOptions, format string) *slog.Logger {
	options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}
	target := &prioritised{out: out}
	var inner slog.Handler = slog.NewTextHandler(Escape(target), options)
	if format == "json" {
		inner = slog.NewJSONHandler(Escape(target), options)
	}
	return slog.New(journalHandler{inner, target})
}

// journalHandler sets the priority of the next line.
type journalHandler struct {
	slog.Handler
	target *prioritised
}

func (h journalHandler) Handle(ctx context.Context, record slog.Record) error {
	h.target.mu.Lock()
	defer h.target.mu.Unlock()
	h.target.priority = priority(record.Level)
	return h.Handler.Handle(ctx, record)
}

func (h journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journalHandler{h.Handler.WithAttrs(attrs), h.target}
}

func (h journalHandler) WithGroup(name string) slog.Handler {
	return journalHandler{h.Handler.WithGroup(name), h.target}
}

// prioritised writes lines with their priority in front.
type prioritised struct {
	out io.Writer

	mu       sync.Mutex // locked for a whole record; guards priority
	priority int
}

// Write is called once per record, under mu.
func (p *prioritised) Write(line []byte) (int, error) {
	if _, err := p.out.Write(fmt.Appendf(nil, "<%d>%s", p.priority, line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// priority returns the syslog priority of a level.
func priority(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 3
	case level >= slog.LevelWarn:
		return 4
	case level >= slog.LevelInfo:
		return 6
	default:
		return 7
	}
}
