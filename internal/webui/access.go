package webui

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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

// visit is what the cookie of a path is given for.
func visit(path string) purpose { return purpose("visit " + path) }

// A ticket is a token for one minute and one browser. It is used where other users may see
// it: the arguments of a program are no secret on a machine.
const (
	ticketLife = time.Minute
	maxTickets = 16
)

type access struct {
	grants *Grants

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
	if _, valid := d.grants.valid(link, token); valid {
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
	value, err := d.grants.give(visit(path), time.Now().Add(visitLife))
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
		end, valid := d.visit(r)
		if !valid {
			http.Error(w, locked, http.StatusUnauthorized)
			return
		}
		if time.Until(end) < visitLife-renewAfter {
			_ = d.remember(w, r.PathValue("visit")) // else with the next request
		}
		markTrusted(r.Context())
		next(w, r)
	})
}

// visit reports whether a request has the cookie of its path, and when that ends.
func (d *access) visit(r *http.Request) (end time.Time, valid bool) {
	for _, shown := range r.CookiesNamed(cookieName) {
		if end, valid = d.grants.valid(visit(r.PathValue("visit")), shown.Value); valid {
			return end, true
		}
	}
	return time.Time{}, false
}

// GrantsFile is the name of the file that holds the grants.
const GrantsFile = "page.grants"

// mostGrants bounds the file: what ends first goes first.
const mostGrants = 256

// Grants are the links and cookies that are valid. Only their hashes are stored: a program that can read the file, such
// as an agent in a sandbox, learns no valid one. They are in a file, so that an open page goes on after a restart of the
// daemon. Removing the file ends all of them at once.
type Grants struct {
	path string
	mu   sync.Mutex // guards the file
}

// OpenGrants returns the grants stored in dir.
func OpenGrants(dir string) *Grants { return &Grants{path: filepath.Join(dir, GrantsFile)} }

// purpose says what a grant may be used for.
type purpose string

// give returns a new token for a purpose that is valid until end.
func (g *Grants) give(what purpose, end time.Time) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ends := g.read()
	token := rand.Text()
	ends[hashOf(what, token)] = end.Unix()
	now := time.Now().Unix()
	maps.DeleteFunc(ends, func(_ string, end int64) bool { return end <= now })
	for len(ends) > mostGrants {
		first := slices.Min(slices.Collect(maps.Values(ends)))
		maps.DeleteFunc(ends, func(_ string, end int64) bool { return end == first })
	}
	data, err := json.Marshal(ends)
	if err == nil {
		err = atomicfile.Write(g.path, data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write who may see the page: %w", err)
	}
	return token, nil
}

// valid reports whether a token was given for that purpose and has not ended, and when it ends.
func (g *Grants) valid(what purpose, token string) (end time.Time, valid bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seconds, given := g.read()[hashOf(what, token)]
	end = time.Unix(seconds, 0)
	return end, given && time.Now().Before(end)
}

// read returns when each grant ends, by its hash. A file that cannot be read holds none.
func (g *Grants) read() map[string]int64 {
	ends := make(map[string]int64)
	if data, err := regular.Read(g.path); err != nil || json.Unmarshal(data, &ends) != nil || ends == nil {
		return make(map[string]int64)
	}
	return ends
}

// end ends all grants.
func (g *Grants) end() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := os.Remove(g.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the access of all browsers: %w", err)
	}
	return nil
}

func hashOf(what purpose, token string) string {
	hash := sha256.Sum256([]byte(string(what) + " " + token))
	return base64.RawURLEncoding.EncodeToString(hash[:])
}
