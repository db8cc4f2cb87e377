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

// The letters of a secret, and its least length. Shorter ones were once used in cookies, and are
// replaced.
const (
	alphabet  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	minSecret = 52
)

// Secret signs the keys and tokens of browsers. It never leaves the machine. It is stored
// in a file, so that an open page goes on after a restart of the daemon. Removing the file
// ends all keys and tokens at once.
type Secret struct {
	path string
	mu   sync.Mutex // only one is made
}

// OpenSecret returns the secret stored in dir, and makes one if there is none.
func OpenSecret(dir string) (*Secret, error) {
	s := &Secret{path: filepath.Join(dir, SecretFile)}
	_, err := s.now()
	return s, err
}

// now reads the present secret, or makes a new one if there is none or other users could have read it.
func (s *Secret) now() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := regular.Read(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the page's secret: %w", err)
	}
	if text := strings.TrimSpace(string(data)); wellFormed(text) && private(s.path) {
		return text, nil
	}
	text := rand.Text() + rand.Text()
	// Atomic: another reader never finds half a secret.
	if err := atomicfile.Write(s.path, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the page's secret: %w", err)
	}
	return text, nil
}

// wellFormed reports whether the text is a whole secret.
func wellFormed(text string) bool {
	return len(text) >= minSecret && strings.Trim(text, alphabet) == ""
}

// private reports whether only the owner can read the file.
func private(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}

// purpose says what a signed text may be used for.
type purpose string

// sign returns a signed text for a purpose that is valid until end.
func (s *Secret) sign(what purpose, end time.Time) (string, error) {
	secret, err := s.now()
	if err != nil {
		return "", err
	}
	at := strconv.FormatInt(end.Unix(), 36)
	return at + "." + mac(secret, what, at), nil
}

// verify reports whether a text was signed for that purpose and has not ended.
func (s *Secret) verify(what purpose, given string) bool {
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
	_, _ = fmt.Fprintf(h, "%s %s", what, at) // a hash returns no error
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
