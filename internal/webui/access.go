package webui

import (
	"crypto/rand"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
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
