package webui

import (
	"crypto/rand"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// What lets a browser in is never a cookie: a browser sends those of 127.0.0.1 to
// every port of it, and so to every program of every user of the machine. The
// link has a token; the page opens its stream with it, which begins with a key. That
// it keeps for its own origin and tab, and shows with each request.
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
	return d.letIn(next, func(scheme, shown string) bool { return scheme == "Bearer" && d.secret.holds(key, shown) })
}

// welcome lets in also who shows a token, and so has only just followed a link.
func (d *access) welcome(next http.HandlerFunc) http.Handler {
	return d.letIn(next, func(scheme, shown string) bool {
		return scheme == "Bearer" && d.secret.holds(key, shown) || scheme == "Link" && d.takes(shown)
	})
}

// letIn refuses whose Authorization says nothing that holds. What stands in an address is
// never asked: it is kept in histories and logs.
func (d *access) letIn(next http.HandlerFunc, holds func(scheme, shown string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !holds(scheme, shown) {
			stranger(w)
			return
		}
		vouch(r.Context())
		next(w, r)
	})
}

func stranger(w http.ResponseWriter) {
	http.Error(w, "resumed open gives the link that lets you in", http.StatusUnauthorized)
}
