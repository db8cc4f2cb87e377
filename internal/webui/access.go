package webui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"resumed/internal/atomicfile"
	"resumed/internal/regular"
)

// A browser is never recognised by a cookie: it sends cookies of 127.0.0.1 to every port of
// it, and so to programs of other users. The link has a token. The page opens its stream
// with the token, and the stream begins with a key. The page keeps the key for its own
// origin and tab, and sends it with each request.
const (
	link purpose = "link" // a token in a link
	key  purpose = "key"  // what the page sends with each request

	linkLife = 15 * time.Minute
	keyLife  = 12 * time.Hour
	keyEvery = time.Hour // an open page gets a new key this often
)

// A ticket is a token for one minute and one browser. It is used where other users may see
// it: the arguments of a program are no secret on a machine.
const (
	ticketLife = time.Minute
	maxTickets = 16
)

// access checks keys and tokens, and makes them.
type access struct {
	secret *Secret

	// mu guards everything that follows.
	mu      sync.Mutex
	tickets map[string]time.Time // with the time when they end
}

// key returns a new key.
func (d *access) key() (string, error) { return d.secret.sign(key, time.Now().Add(keyLife)) }

// ticket returns a new ticket.
func (d *access) ticket() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.tickets, func(_ string, end time.Time) bool { return now.After(end) })
	if d.tickets == nil || len(d.tickets) >= maxTickets {
		d.tickets = make(map[string]time.Time)
	}
	ticket := rand.Text()
	d.tickets[ticket] = now.Add(ticketLife)
	return ticket
}

// accepts reports whether a token is valid. A ticket is valid once.
func (d *access) accepts(token string) bool {
	if d.secret.verify(link, token) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	end, issued := d.tickets[token]
	delete(d.tickets, token)
	return issued && !time.Now().After(end)
}

// require refuses requests without a valid key in the Authorization header. The address is never
// used for that: histories and logs keep it. orLink accepts a token too: a page that was just opened
// from a link has only that.
func (d *access) require(orLink bool, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if scheme == "Bearer" && d.secret.verify(key, shown) || orLink && scheme == "Link" && d.accepts(shown) {
			markTrusted(r.Context())
			next(w, r)
			return
		}
		http.Error(w, "resumed open gives the link that lets you in", http.StatusUnauthorized)
	})
}

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
