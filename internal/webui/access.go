package webui

import (
	"crypto/rand"
	"crypto/subtle"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// cookie is where a browser keeps the token.
const cookie = "resumed_token"

// A ticket is a token for one minute and one browser, for where others may read
// along: what a program is started with is no secret on a machine.
const (
	ticketLife  = time.Minute
	mostTickets = 16
)

// access lets in who has the token.
type access struct {
	token string

	// mu guards everything that follows.
	mu      sync.Mutex
	tickets map[string]time.Time // and when they end
}

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

// takes reports whether a link lets in. A ticket does so once.
func (d *access) takes(given string) bool {
	if d.fits(given) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	end, issued := d.tickets[given]
	delete(d.tickets, given)
	return issued && !time.Now().After(end)
}

// fits compares in constant time: how long it takes tells nothing.
func (d *access) fits(given string) bool {
	return d.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(d.token)) == 1
}

func (d *access) knows(r *http.Request) bool {
	// A browser may send several of one name, such as one that another
	// program on this host set.
	for _, c := range r.CookiesNamed(cookie) {
		if d.fits(c.Value) {
			return true
		}
	}
	return false
}

// guard refuses who does not have the token.
func (d *access) guard(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.knows(r) {
			http.Error(w, "resumed open gives the link that lets you in", http.StatusUnauthorized)
			return
		}
		vouch(r.Context())
		next(w, r)
	})
}

// enter takes the token from the link, has the browser keep it, and sends the
// browser to the address without it, which may be seen and kept.
func (d *access) enter(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && d.takes(r.URL.Query().Get("token")):
			http.SetCookie(w, &http.Cookie{
				Name: cookie, Value: d.token, Path: "/", MaxAge: 90 * 24 * 60 * 60,
				HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			w.Header().Set("Location", "/") // http.Redirect would repeat it in a body
			w.WriteHeader(http.StatusSeeOther)
		case d.knows(r):
			next(w, r)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, stranger)
		}
	})
}

// stranger is shown to who has no token. The link helps who followed one from
// another site: the browser did not send the cookie along then.
const stranger = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>resumed</title>
<h1>resumed</h1><p>This page opens with its own link: run <code>resumed open</code> on the machine it runs on.</p>
<p><a href="/">Try again</a></p></html>
`
