package webui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
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

// A browser that followed a link is remembered by a cookie. A browser sends the cookies of
// 127.0.0.1 to every port of it, and so to programs of other users. Therefore each visit has a
// random path of its own, and its cookie is valid for that path alone: a request for any other
// path does not carry it. Only the page knows the path. It stores it for its own origin, where no
// other port can read it, and the cookie is out of reach of all scripts.
const (
	link purpose = "link" // a token in a link

	linkLife   = 15 * time.Minute
	visitLife  = 30 * 24 * time.Hour
	renewAfter = 24 * time.Hour // a cookie that is older is replaced by a new one

	cookieName = "resumed"
	visitRoot  = "/at/"
)

// visit is what the cookie of a path is signed for.
func visit(path string) purpose { return purpose("visit " + path) }

// A ticket is a token for one minute and one browser. It is used where other users may see
// it: the arguments of a program are no secret on a machine.
const (
	ticketLife = time.Minute
	maxTickets = 16
)

type access struct {
	secret *Secret

	// mu guards everything that follows.
	mu      sync.Mutex
	tickets map[string]time.Time // with the time when they end
}

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
	if _, valid := d.secret.verify(link, token); valid {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	end, issued := d.tickets[token]
	delete(d.tickets, token)
	return issued && !time.Now().After(end)
}

const locked = "resumed open gives the link that lets you in"

// enter answers a page that shows the token of its link with the path of a new visit, and its cookie.
// The address is never used for the token: histories and logs keep it.
func (d *access) enter(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme != "Link" || !d.accepts(token) {
		http.Error(w, locked, http.StatusUnauthorized)
		return
	}
	path := rand.Text()
	if err := d.remember(w, path); err != nil {
		answer(w, nil, err)
		return
	}
	markTrusted(r.Context())
	_, _ = io.WriteString(w, path) // an error means that the browser is gone
}

// remember gives the browser a new cookie for the path of its visit.
func (d *access) remember(w http.ResponseWriter, path string) error {
	value, err := d.secret.sign(visit(path), time.Now().Add(visitLife))
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: visitRoot + path,
		MaxAge: int(visitLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	return nil
}

// require refuses requests without the cookie of their path.
func (d *access) require(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.PathValue("visit")
		for _, shown := range r.CookiesNamed(cookieName) {
			end, valid := d.secret.verify(visit(path), shown.Value)
			if !valid {
				continue
			}
			if time.Until(end) < visitLife-renewAfter {
				_ = d.remember(w, path) // else with the next request
			}
			markTrusted(r.Context())
			next(w, r)
			return
		}
		http.Error(w, locked, http.StatusUnauthorized)
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

// Secret signs the cookies and tokens of browsers. It never leaves the machine. It is stored
// in a file, so that an open page goes on after a restart of the daemon. Removing the file
// ends all cookies and tokens at once.
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
	text := strings.TrimSpace(string(data))
	whole := len(text) >= minSecret && strings.Trim(text, alphabet) == ""
	if info, err := os.Lstat(s.path); whole && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 {
		return text, nil
	}
	text = rand.Text() + rand.Text()
	// Atomic: another reader never finds half a secret.
	if err := atomicfile.Write(s.path, []byte(text+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the page's secret: %w", err)
	}
	return text, nil
}

// replace makes a new secret, which ends all cookies and tokens.
func (s *Secret) replace() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the page's secret: %w", err)
	}
	_, err := s.now()
	return err
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

// verify reports whether a text was signed for that purpose and has not ended, and when it ends.
func (s *Secret) verify(what purpose, given string) (end time.Time, valid bool) {
	secret, err := s.now()
	at, proof, found := strings.Cut(given, ".")
	if err != nil || !found || !hmac.Equal([]byte(proof), []byte(mac(secret, what, at))) {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(at, 36, 64)
	end = time.Unix(seconds, 0)
	return end, err == nil && time.Now().Before(end)
}

func mac(secret string, what purpose, at string) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(h, "%s %s", what, at) // a hash returns no error
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
