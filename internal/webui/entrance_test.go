package webui

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
)

func TestWhoGetsIn(t *testing.T) {
	b := &board{}
	p := newPage(t, b)
	known := known(t, p)
	link, err := p.Query(false)
	require.NoError(t, err)
	stored, err := os.ReadFile(p.access.grants.path)
	require.NoError(t, err)
	for hash := range p.access.grants.read() {
		require.Len(t, hash, 43)
	}
	require.NotContains(t, string(stored), strings.TrimPrefix(link, "token="))
	given := func(what purpose, end time.Time) func(*http.Request) {
		token, err := p.access.grants.give(what, end)
		require.NoError(t, err)
		return showing(token)
	}
	from := func(site, origin string) func(*http.Request) {
		return func(r *http.Request) {
			known(r)
			r.Header.Set("Sec-Fetch-Site", site)
			r.Header.Set("Origin", origin)
		}
	}
	header := func(r *http.Request) {
		known(r)
		cookie, _ := r.Cookie(cookieName)
		r.Header.Del("Cookie")
		r.Header.Set("Authorization", "Bearer "+cookie.Value)
	}
	later := time.Now().Add(time.Hour)
	const page, there = "http://127.0.0.1:7733", "http://evil.example"
	const form = "agent=a&id=1"
	for name, c := range map[string]struct {
		method, target string
		change         func(*http.Request)
		want           int
		ordered        []string
	}{
		"the page, which tells nothing":           {"GET", "/", nil, 200, nil},
		"the page, with its link":                 {"GET", "/?" + link, nil, 200, nil},
		"a part of the page by itself":            {"GET", "/page.js", nil, 404, nil},
		"a session, with nothing":                 {"GET", at("/session?" + form), nil, 401, nil},
		"strips, with nothing":                    {"GET", at("/strips?" + form), nil, 401, nil},
		"strips of accounts, with nothing":        {"GET", at("/strips/accounts"), nil, 401, nil},
		"the queue, with nothing":                 {"GET", at("/queue"), nil, 401, nil},
		"the history, with nothing":               {"GET", at("/history"), nil, 401, nil},
		"a new cookie, with nothing":              {"GET", at("/renew"), nil, 401, nil},
		"a session, with a link":                  {"GET", at("/session?" + form + "&" + link), nil, 401, nil},
		"a session that nobody knows":             {"GET", at("/session?" + form), known, 404, nil},
		"a session, without a visit":              {"GET", "/session?" + form, known, 404, nil},
		"strips of nobody":                        {"GET", at("/strips"), known, 400, nil},
		"the stream, with nothing":                {"GET", at("/events"), nil, 401, nil},
		"the stream, with a link":                 {"GET", at("/events?" + link), nil, 401, nil},
		"the stream, with the link's token":       {"GET", at("/events"), following(link), 401, nil},
		"the stream, with the token as a cookie":  {"GET", at("/events"), showing(strings.TrimPrefix(link, "token=")), 401, nil},
		"the stream, with what is stored":         {"GET", at("/events"), showing(slices.Collect(maps.Keys(p.access.grants.read()))[0]), 401, nil},
		"the stream, with an empty cookie":        {"GET", at("/events"), showing(""), 401, nil},
		"the stream, with one that ended":         {"GET", at("/events"), given(visit(here), time.Now()), 401, nil},
		"the stream, with the cookie of another":  {"GET", at("/events"), given(visit("ELSEWHERE"), later), 401, nil},
		"the stream, with the cookie elsewhere":   {"GET", visitRoot + "ELSEWHERE/events", known, 401, nil},
		"the stream, with the cookie in a header": {"GET", at("/events"), header, 401, nil},
		"the stream by POST":                      {"POST", at("/events"), known, 405, nil},
		"an order, with nothing":                  {"POST", at("/session/retry"), nil, 401, nil},
		"an order, with a link":                   {"POST", at("/session/retry?" + link), nil, 401, nil},
		"an order, with the link's token":         {"POST", at("/session/retry"), following(link), 401, nil},
		"a pause, with nothing":                   {"POST", at("/pause"), nil, 401, nil},
		"a pause, with the link's token":          {"POST", at("/pause"), following(link), 401, nil},
		"an order from the page":                  {"POST", at("/session/retry"), from("same-origin", page), 200, []string{"due a/1"}},
		"an order from a program":                 {"POST", at("/session/cancel"), known, 200, []string{"cancel a/1"}},
		"a pause from the page":                   {"POST", at("/pause"), from("same-origin", page), 200, []string{"paused true"}},
		"an unpause from the page":                {"POST", at("/unpause"), from("same-origin", page), 200, []string{"paused false"}},
		"an order from another site":              {"POST", at("/session/retry"), from("cross-site", there), 403, nil},
		"an order from a neighbour":               {"POST", at("/session/retry"), from("same-site", "http://127.0.0.1:8080"), 403, nil},
		"an order from an old browser, there":     {"POST", at("/session/retry"), from("", there), 403, nil},
		"a pause from another site":               {"POST", at("/pause"), from("cross-site", there), 403, nil},
		"a link followed by a neighbour":          {"POST", "/enter", from("same-site", "http://127.0.0.1:8080"), 403, nil},
		"a link that nobody made":                 {"POST", "/enter", following("token=x"), 401, nil},
		"a link followed by GET":                  {"GET", "/enter", following(link), 405, nil},
		"an order by GET":                         {"GET", at("/session/retry?" + form), known, 405, nil},
		"a pause by GET":                          {"GET", at("/pause"), known, 405, nil},
		"an unpause by GET":                       {"GET", at("/unpause"), known, 405, nil},
		"an order by HEAD":                        {"HEAD", at("/session/retry?" + form), known, 405, nil},
		"an order in the address":                 {"POST", at("/session/retry?" + form), known, 400, nil},
		"an order that ends a command":            {"POST", at("/session/stop"), known, 404, nil},
		"an order that nobody knows":              {"POST", at("/session/delete"), known, 404, nil},
		"the socket's own orders":                 {"POST", "/v1/session/retry", known, 404, nil},
		"a file of the program's":                 {"GET", "/files/page.html", known, 404, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b.orders = nil
			body := form
			if strings.HasSuffix(c.target, form) {
				body = "" // it is in the address
			}
			answer := ask(p, c.method, c.target, body, c.change)
			require.Equal(t, c.want, answer.Code, answer.Body)
			require.Equal(t, c.ordered, b.orders)
			require.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'sha256-")
			require.Equal(t, "no-store", answer.Header().Get("Cache-Control"))
			require.NotContains(t, answer.Body.String(), strings.TrimPrefix(link, "token="))
			require.Empty(t, answer.Header().Values("Set-Cookie"), "a cookie is given for a link")
		})
	}
}

// A printed link lets in for a while, as often as it is followed. Each visit has a path of its own, and
// its cookie goes nowhere else and to no script.
func TestLinkBecomesAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		link, err := p.Query(false)
		require.NoError(t, err)
		paths := map[string]bool{}
		for range 2 {
			_, path, cookie := enter(p, link)
			paths[path] = true
			require.Equal(t, visitRoot+path, cookie.Path)
			require.True(t, cookie.HttpOnly)
			require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
			require.Empty(t, cookie.Domain)
			require.Equal(t, int(visitLife.Seconds()), cookie.MaxAge)
			require.Equal(t, 200, ask(p, "POST", cookie.Path+"/pause", "", showing(cookie.Value)).Code)
			require.Equal(t, 401, ask(p, "POST", at("/pause"), "", showing(cookie.Value)).Code)
		}
		require.Len(t, paths, 2)
		entered(t, p, link+"x", 401)
		entered(t, p, "token=", 401)
		entered(t, p, "token="+strings.Repeat("x", formLimit), 401)
		_, _, given := enter(p, link)
		entered(t, p, "token="+given.Value, 401) // a cookie makes no new one
		time.Sleep(linkLife)
		entered(t, p, link, 401)
		require.Equal(t, 200, ask(p, "POST", given.Path+"/pause", "", showing(given.Value)).Code)
		time.Sleep(visitLife - linkLife)
		require.Equal(t, 401, ask(p, "POST", given.Path+"/pause", "", showing(given.Value)).Code)
	})
}

// What a browser is started with is no secret.
func TestTicketLetsInOnceAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		ticket := func() string {
			query, err := p.Query(true)
			require.NoError(t, err)
			return query
		}
		used, late := ticket(), ticket()
		require.Equal(t, 200, ask(p, "GET", "/?"+used, "", nil).Code, "whoever only looks at a link does not use it up")
		entered(t, p, used, 200)
		entered(t, p, used, 401)
		time.Sleep(ticketLife + time.Second)
		entered(t, p, late, 401)
		for range 10 * maxTickets {
			ticket()
		}
		require.LessOrEqual(t, len(p.access.tickets), maxTickets)
	})
}

// A browser that comes back stays let in; one that does not come for a month is forgotten.
func TestABrowserThatComesBackIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		link, err := p.Query(false)
		require.NoError(t, err)
		_, _, cookie := enter(p, link)
		for day := range 70 {
			answer := ask(p, "GET", cookie.Path+"/renew", "", showing(cookie.Value))
			require.Equal(t, 200, answer.Code)
			fresh := answer.Result().Cookies()
			require.Len(t, fresh, min(day, 1), "a cookie of the same day is not replaced")
			for _, each := range fresh {
				require.Equal(t, cookie.Path, each.Path)
				cookie = each
			}
			time.Sleep(renewAfter + time.Second)
		}
		time.Sleep(visitLife)
		require.Equal(t, 401, ask(p, "GET", cookie.Path+"/renew", "", showing(cookie.Value)).Code)
	})
}

// A new key locks everybody out, at once.
func TestVisitsEndWithTheirGrants(t *testing.T) {
	p := newPage(t, &board{})
	for name, change := range map[string]func() error{"a new key": p.NewKey, "a file that was removed": func() error { return os.Remove(p.access.grants.path) }} {
		known := known(t, p)
		link, err := p.Query(false)
		require.NoError(t, err)
		require.Equal(t, 200, ask(p, "POST", at("/pause"), "", known).Code)
		require.NoError(t, change())
		require.Equal(t, 401, ask(p, "POST", at("/pause"), "", known).Code, name)
		entered(t, p, link, 401)
	}
	link, err := p.Query(false)
	require.NoError(t, err)
	entered(t, p, link, 200)

	// Where none can be had, nobody gets in.
	require.NoError(t, os.RemoveAll(filepath.Dir(p.access.grants.path)))
	entered(t, p, link, 401)
	_, err = p.Query(false)
	require.ErrorContains(t, err, "write who may see the page")
}

// The stream of an open page ends with its grant.
func TestAnOpenPageIsPutOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		outside := make(street, 1)
		server := &http.Server{Handler: bounded(p), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		go func() { _ = server.Serve(outside) }()
		conn := outside.come()
		request := httptest.NewRequest("GET", "http://127.0.0.1"+at("/events"), nil)
		known(t, p)(request)
		request.Close = true // the end of the stream is that of the connection
		go func() { _ = request.Write(conn) }()
		events := bufio.NewScanner(conn)
		for began := time.Now(); time.Since(began) < 24*time.Hour; {
			require.True(t, events.Scan(), "an idle stream goes on")
		}
		require.NoError(t, p.NewKey())
		began := time.Now()
		for events.Scan() { // to its end
		}
		require.LessOrEqual(t, time.Since(began), control.BeatEvery)
		require.NoError(t, conn.Close())
		close(outside)
		require.NoError(t, server.Close())
	})
}

// A retry before the provider's time is done only after the person has confirmed it.
func TestAnEarlyRetryIsAskedForFirst(t *testing.T) {
	b := &board{err: fmt.Errorf("%w until 2026-11-15T17:00:00Z", control.ErrEarly)}
	p := newPage(t, b)
	answer := ask(p, "POST", at("/session/retry"), "agent=a&id=1&agent=a&id=2", known(t, p))
	require.Equal(t, 200, answer.Code)
	require.JSONEq(t, `{"said": "", "early": ["a/1", "a/2"], "until": "the provider asked to wait until 2026-11-15T17:00:00Z"}`, answer.Body.String())
	require.Equal(t, []string{"due a/1", "due a/2"}, b.orders)

	b.err, b.orders = nil, nil
	answer = ask(p, "POST", at("/session/retry"), "agent=a&id=1&agent=a&id=2&now=1", known(t, p))
	require.JSONEq(t, `{"said": "done for 2 sessions"}`, answer.Body.String())
	require.Equal(t, []string{"retry a/1", "retry a/2"}, b.orders)

	b.orders = nil
	answer = ask(p, "POST", at("/session/retry"), "agent=a&id=1&host=build", known(t, p))
	require.Equal(t, 200, answer.Code)
	require.Equal(t, []string{"due build: a/1"}, b.orders, "the other host says if it is early")
	require.Equal(t, 400, ask(p, "POST", at("/session/drop"), "agent=a&id=1&host=build", known(t, p)).Code, "the queue is of this host")

	b.err = errors.New("full")
	require.Equal(t, 500, ask(p, "POST", at("/session/pause"), "agent=a&id=1", known(t, p)).Code)
	for _, form := range []string{"agent=a&id=1&id=2", "agent=a&id=", "agent=&id=1", ""} {
		require.Equal(t, 400, ask(p, "POST", at("/session/pause"), form, known(t, p)).Code, form)
	}
}
