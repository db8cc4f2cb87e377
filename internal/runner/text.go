package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"resumed/internal/sanitize"
)

const maxID = 200

// CheckID returns an error for a session id that must not be part of a command or a path: one
// that could be taken for an option, or that has characters which no agent uses in ids.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("session id is empty")
	case len(id) > maxID:
		return fmt.Errorf("session id is longer than %d characters: %q…", maxID, id[:20])
	case !isAlnum(id[0]):
		return fmt.Errorf("session id %q must begin with one of a-z, A-Z and 0-9", id)
	}
	for _, r := range id {
		if r >= utf8.RuneSelf || !isAlnum(byte(r)) && !strings.ContainsRune("_.:-", r) {
			return fmt.Errorf("session id %q must not contain %q", id, r)
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// Head returns up to n bytes from the beginning of a file; empty if it cannot be read.
func Head(path string, n int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, n))
	return string(text)
}

// Tail returns up to n bytes from the end of a file, without control characters. It begins
// with a whole line if possible.
func Tail(path string, n int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read last words: %w", err)
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	from := max(0, size-n)
	data, readErr := io.ReadAll(io.NewSectionReader(file, from, n))
	if err := errors.Join(err, readErr); err != nil {
		return "", fmt.Errorf("read last words: %w", err)
	}
	text := string(data)
	if from > 0 {
		text = wholeLines(text)
	}
	return sanitize.Text(text), nil
}

// wholeLines drops the first line, which is not complete, unless it is the only one.
func wholeLines(text string) string {
	_, rest, found := strings.Cut(text, "\n")
	if found && strings.TrimSpace(rest) != "" {
		return rest
	}
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
