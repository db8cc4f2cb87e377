package webui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/regular"
)

// SecretFile is the name of the file that holds the secret.
const SecretFile = "page.token"

// What a secret is made of, and how long it is at least. Those of half the length
// were once in the cookies of browsers, and are replaced.
const (
	alphabet    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	leastSecret = 52
)

// Secret signs what lets a browser in. It never leaves the machine. It is kept
// in a file, so that an open page goes on after a restart; who removes the file
// makes all that was signed worthless, at once.
type Secret struct {
	path string

	// mu guards everything that follows.
	mu   sync.Mutex
	text string
	file os.FileInfo // that it was read from
}

// OpenSecret returns the secret kept in dir, and makes one where there is none.
func OpenSecret(dir string) (*Secret, error) {
	s := &Secret{path: filepath.Join(dir, SecretFile)}
	_, err := s.now()
	return s, err
}

// now returns the secret that holds at this moment.
func (s *Secret) now() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := os.Lstat(s.path)
	if err == nil && s.file != nil && os.SameFile(file, s.file) && file.ModTime().Equal(s.file.ModTime()) {
		return s.text, nil
	}
	s.text, s.file = "", nil
	text, err := readSecret(s.path)
	if err != nil {
		return "", err
	}
	if file, err = os.Lstat(s.path); err != nil {
		return "", fmt.Errorf("look at the page's secret: %w", err)
	}
	s.text, s.file = text, file
	return text, nil
}

// readSecret makes a new one where there is none that nobody else could know.
func readSecret(path string) (string, error) {
	data, err := regular.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the page's secret: %w", err)
	}
	if text := strings.TrimSpace(string(data)); sound(text) && private(path) {
		return text, nil
	}
	text := rand.Text() + rand.Text()
	// At once: whoever reads finds a whole one.
	if err := atomicfile.Write(path, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the page's secret: %w", err)
	}
	return text, nil
}

// sound reports whether a secret is one, not what is left of one.
func sound(text string) bool {
	return len(text) >= leastSecret && strings.Trim(text, alphabet) == ""
}

// private reports whether only its owner could have read the file.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}

// purpose is what something signed is good for, and for nothing else.
type purpose string

// sign returns a text that proves until its end what it is for.
func (s *Secret) sign(what purpose, end time.Time) (string, error) {
	secret, err := s.now()
	if err != nil {
		return "", err
	}
	at := strconv.FormatInt(end.Unix(), 36)
	return at + "." + mac(secret, what, at), nil
}

// holds reports whether a text was signed for that and has not ended.
func (s *Secret) holds(what purpose, given string) bool {
	secret, err := s.now()
	at, proof, found := strings.Cut(given, ".")
	if err != nil || !found || !hmac.Equal([]byte(proof), []byte(mac(secret, what, at))) {
		return false
	}
	end, err := strconv.ParseInt(at, 36, 64)
	return err == nil && time.Now().Unix() < end
}

func mac(secret string, what purpose, at string) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(h, "%s %s", what, at) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
