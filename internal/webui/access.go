package webui

import (
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// What lets a browser in is never a cookie: a browser sends those of 127.0.0.1 to
// every port of it, and so to every program of every user of the machine. The
// link has a token; the page gives it for a key, which it keeps for its own
// origin and tab, and shows with each request.
const (
	link purpose = "link" // a token that lets in whoever has it
	key  purpose = "key"  // what the page shows

	linkLife = 15 * time.Minute
	keyLife  = 12 * time.Hour
	keyEvery = time.Hour // a page that is open gets a new one this often
)

// A ticket is a token for one minute and one browser, for where others may read
// along: what a program is started with is no secret on a machine.
const (
	ticketLife  = time.Minute
	mostTickets = 16
)

// access lets in who shows a key, and gives one to who has a token.
type access struct {
	secret *Secret

	// mu guards everything that follows.
	mu      sync.Mutex
	tickets map[string]time.Time // and when they end
}

// link returns a new token, for a link that is printed.
func (d *access) link() (string, error) { return d.secret.sign(link, time.Now().Add(linkLife)) }

// key returns a new key.
func (d *access) key() (string, error) { return d.secret.sign(key, time.Now().Add(keyLife)) }

// ticket returns a new ticket.
func (d *access) ticket() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(d.tickets, func(_ string, end time.Time) bool { return now.After(end) })
	if d.tickets == nil || len(d.tickets) >= mostTickets {
		d.tickets = make(map[string]time.Time)
	}
	ticket := rand.Text()
	d.tickets[ticket] = now.Add(ticketLife)
	return ticket
}

// takes reports whether a token lets in. A ticket does so once.
func (d *access) takes(token string) bool {
	if d.secret.holds(link, token) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	end, issued := d.tickets[token]
	delete(d.tickets, token)
	return issued && !time.Now().After(end)
}

// guard refuses who does not show a key.
func (d *access) guard(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found || !d.secret.holds(key, shown) {
			stranger(w)
			return
		}
		vouch(r.Context())
		next(w, r)
	})
}

// enter gives a key for a token.
func (d *access) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	if r.ParseForm() != nil || !d.takes(r.PostForm.Get("token")) { // not from the address
		stranger(w)
		return
	}
	given, err := d.key()
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, given) // the reader is gone: nobody to tell
}

func stranger(w http.ResponseWriter) {
	http.Error(w, "resumed open gives the link that lets you in", http.StatusUnauthorized)
}
