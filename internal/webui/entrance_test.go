package webui

import (
	"bufio"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoGetsIn(t *testing.T) {
	b := &board{}
	p := newPage(t, b)
	known := known(t, p)
	link, err := p.Query(false)
	require.NoError(t, err)
	secret, err := p.access.secret.now()
	require.NoError(t, err)
	from := func(site, origin string) func(*http.Request) {
		return func(r *http.Request) {
			known(r)
			r.Header.Set("Sec-Fetch-Site", site)
			r.Header.Set("Origin", origin)
		}
	}
	late, err := p.access.secret.sign(key, time.Now())
	require.NoError(t, err)
	good, err := p.access.key()
	require.NoError(t, err)
	cookie := func(r *http.Request) {
		known(r)
		r.AddCookie(&http.Cookie{Name: "key", Value: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")})
		r.Header.Del("Authorization")
	}
	const here, there = "http://127.0.0.1:7733", "http://evil.example"
	const form = "agent=a&id=1"
	for name, c := range map[string]struct {
		method, target string
		change         func(*http.Request)
		want           int
		ordered        []string
	}{
		"the page, which tells nothing":       {"GET", "/", nil, 200, nil},
		"the page, with its link":             {"GET", "/?" + link, nil, 200, nil},
		"a part of the page by itself":        {"GET", "/page.js", nil, 404, nil},
		"a session, with nothing":             {"GET", "/session?" + form, nil, 401, nil},
		"strips, with nothing":                {"GET", "/strips?" + form, nil, 401, nil},
		"strips of accounts, with nothing":    {"GET", "/strips/accounts", nil, 401, nil},
		"a session, with a link":              {"GET", "/session?" + form + "&" + link, nil, 401, nil},
		"a session that nobody knows":         {"GET", "/session?" + form, known, 404, nil},
		"strips of nobody":                    {"GET", "/strips", known, 400, nil},
		"the stream, with nothing":            {"GET", "/events", nil, 401, nil},
		"the stream, with a link":             {"GET", "/events?" + link, nil, 401, nil},
		"the stream, with a link as a key":    {"GET", "/events", showing(strings.TrimPrefix(link, "token=")), 401, nil},
		"the stream, with the secret":         {"GET", "/events", showing(secret), 401, nil},
		"the stream, with an empty key":       {"GET", "/events", showing(""), 401, nil},
		"the stream, with a key that ended":   {"GET", "/events", showing(late), 401, nil},
		"the stream, with a key made longer":  {"GET", "/events", showing("z" + late), 401, nil},
		"an order, with nothing":              {"POST", "/session/retry", nil, 401, nil},
		"an order, with a link":               {"POST", "/session/retry?" + link, nil, 401, nil},
		"an order, with a cookie":             {"POST", "/session/retry", cookie, 401, nil},
		"a pause, with nothing":               {"POST", "/pause", nil, 401, nil},
		"an order from the page":              {"POST", "/session/retry", from("same-origin", here), 200, []string{"retry a/1"}},
		"an order from a program":             {"POST", "/session/cancel", known, 200, []string{"cancel a/1"}},
		"a pause from the page":               {"POST", "/pause", from("same-origin", here), 200, []string{"paused true"}},
		"an unpause from the page":            {"POST", "/unpause", from("same-origin", here), 200, []string{"paused false"}},
		"an order from another site":          {"POST", "/session/retry", from("cross-site", there), 403, nil},
		"an order from a neighbour":           {"POST", "/session/retry", from("same-site", "http://127.0.0.1:8080"), 403, nil},
		"an order from an old browser, there": {"POST", "/session/retry", from("", there), 403, nil},
		"a pause from another site":           {"POST", "/pause", from("cross-site", there), 403, nil},
		"the stream, with a key as a link":    {"GET", "/events", following("token=" + good), 401, nil},
		"the stream, with a cookie":           {"GET", "/events", cookie, 401, nil},
		"the stream by POST":                  {"POST", "/events", following(link), 405, nil},
		"a session, with the link's token":    {"GET", "/session?" + form, following(link), 401, nil},
		"an order, with the link's token":     {"POST", "/session/retry", following(link), 401, nil},
		"a pause, with the link's token":      {"POST", "/pause", following(link), 401, nil},
		"an order by GET":                     {"GET", "/session/retry?" + form, known, 405, nil},
		"a pause by GET":                      {"GET", "/pause", known, 405, nil},
		"an unpause by GET":                   {"GET", "/unpause", known, 405, nil},
		"an order by HEAD":                    {"HEAD", "/session/retry?" + form, known, 405, nil},
		"an order in the address":             {"POST", "/session/retry?" + form, known, 400, nil},
		"an order that ends a command":        {"POST", "/session/stop", known, 404, nil},
		"an order that nobody knows":          {"POST", "/session/delete", known, 404, nil},
		"the socket's own orders":             {"POST", "/v1/session/retry", known, 404, nil},
		"a file of the program's":             {"GET", "/files/page.html", known, 404, nil},
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
			require.NotContains(t, answer.Body.String(), secret)
			require.Empty(t, answer.Header().Values("Set-Cookie"), "a cookie goes to every port")
		})
	}
}

// A printed link lets in for a while, as often as it is followed.
func TestLinkBecomesAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		link, err := p.Query(false)
		require.NoError(t, err)
		for range 2 {
			_, given := enter(p, link)
			require.Equal(t, 200, ask(p, "POST", "/pause", "", showing(given)).Code)
		}
		entered(t, p, link+"x", 401)
		entered(t, p, "token=", 401)
		entered(t, p, "token="+strings.Repeat("x", formLimit), 401)
		_, given := enter(p, link)
		entered(t, p, "token="+given, 401) // a key makes no new one
		time.Sleep(linkLife)
		entered(t, p, link, 401)
		require.Equal(t, 200, ask(p, "POST", "/pause", "", showing(given)).Code)
		time.Sleep(keyLife - linkLife)
		require.Equal(t, 401, ask(p, "POST", "/pause", "", showing(given)).Code)
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

// Who removes the secret locks everybody out, at once.
func TestKeysAreWorthTheirSecret(t *testing.T) {
	p := newPage(t, &board{})
	known := known(t, p)
	link, err := p.Query(false)
	require.NoError(t, err)
	require.Equal(t, 200, ask(p, "POST", "/pause", "", known).Code)
	require.NoError(t, os.Remove(p.access.secret.path))
	require.Equal(t, 401, ask(p, "POST", "/pause", "", known).Code)
	entered(t, p, link, 401)
	link, err = p.Query(false)
	require.NoError(t, err)
	entered(t, p, link, 200)

	// Where none can be had, nobody gets in.
	require.NoError(t, os.RemoveAll(filepath.Dir(p.access.secret.path)))
	entered(t, p, link, 401)
	_, err = p.Query(false)
	require.ErrorContains(t, err, "write the page's secret")
}

// A page that stays open stays let in, until its secret is gone.
func TestAnOpenPageIsGivenNewKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(t, &board{})
		outside := make(street, 1)
		server := &http.Server{Handler: bounded(p), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		go func() { _ = server.Serve(outside) }()
		conn := outside.come()
		request := httptest.NewRequest("GET", "http://127.0.0.1/events", nil)
		known(t, p)(request)
		request.Close = true // the end of the stream is that of the connection
		go func() { _ = request.Write(conn) }()
		events := bufio.NewScanner(conn)
		began, latest := time.Now(), ""
		for events.Scan() {
			text, found := strings.CutPrefix(events.Text(), "data: ")
			if found && p.access.secret.verify(key, text) {
				latest = text
			}
			if time.Since(began) > 2*keyLife {
				break
			}
		}
		require.Equal(t, 200, ask(p, "POST", "/pause", "", showing(latest)).Code)

		require.NoError(t, os.Remove(p.access.secret.path))
		began = time.Now()
		for events.Scan() { // to its end
		}
		require.LessOrEqual(t, time.Since(began), beatEvery)
		require.NoError(t, conn.Close())
		close(outside)
		require.NoError(t, server.Close())
	})
}
