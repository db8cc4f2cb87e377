package webui

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"resumed/internal/atomicfile"
)

// TokenFile is the name of the file that holds the token.
const TokenFile = "page.token"

// What a token is made of, and how long it is at least.
const (
	alphabet   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	leastToken = 26
)

// Token returns the token kept in dir, and makes one where there is none. It
// stays over a restart, so that an open page goes on; who removes the file gets
// a new one at the next start.
func Token(dir string) (string, error) {
	path := filepath.Join(dir, TokenFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the page's token: %w", err)
	}
	if token := strings.TrimSpace(string(data)); sound(token) && private(path) {
		return token, nil
	}
	return newToken(path)
}

// sound reports whether a token is one, not what is left of one.
func sound(token string) bool {
	return len(token) >= leastToken && strings.Trim(token, alphabet) == ""
}

// private reports whether only its owner could have read the file.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}

// newToken replaces what is there at once: whoever reads finds a whole token.
func newToken(path string) (string, error) {
	token := rand.Text()
	if err := atomicfile.Write(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the page's token: %w", err)
	}
	return token, nil
}
