package logging

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
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

// withoutTime removes the time of a record, which the journal adds itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// prioritised writes records for the journal: with the priority in front, in place of the level, which
// is the first field.
type prioritised struct{ io.Writer }

func (p prioritised) Write(record []byte) (int, error) {
	var level slog.Level
	line, found := bytes.CutPrefix(record, []byte(`{"level":"`))
	text, rest, _ := bytes.Cut(line, []byte(`",`))
	if found {
		rest = append([]byte("{"), rest...)
	} else {
		text, rest, _ = bytes.Cut(bytes.TrimPrefix(record, []byte("level=")), []byte(" "))
	}
	if err := level.UnmarshalText(text); err != nil {
		rest = record
	}
	if _, err := fmt.Fprintf(p.Writer, "<%d>%s", priority(level), rest); err != nil {
		return 0, err
	}
	return len(record), nil
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
