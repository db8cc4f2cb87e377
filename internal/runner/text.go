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

// CheckID returns an error for a session id that may not be part of a command
// or of a path: one that would be read as an option, or that has characters
// which no agent uses in ids.
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

// Head returns the beginning of a file, up to n bytes of it, as far as it can be read.
func Head(path string, n int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, n))
	return string(text)
}

// Tail returns the end of a file, up to n bytes of it, made harmless.
// It begins with a whole line where it can.
func Tail(path string, n int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read last words: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read last words: %w", err)
	}
	from := max(0, info.Size()-n)
	data, err := io.ReadAll(io.NewSectionReader(file, from, n))
	if err != nil {
		return "", fmt.Errorf("read last words: %w", err)
	}
	text := string(data)
	if from > 0 {
		text = wholeLines(text)
	}
	return sanitize.Text(text), nil
}

// wholeLines drops the rest of a line whose beginning is missing, but not
// where that is all there is.
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
