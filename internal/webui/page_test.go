package webui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// board is a daemon that only notes what it is ordered.
type board struct {
	changes control.Changes

	mu       sync.Mutex
	orders   []string
	sessions []resume.View
	err      error
}

func (b *board) Status(_ context.Context, _ bool, only ...resume.Key) (control.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := control.Status{Version: 1, Now: time.Now(), Sessions: []resume.View{}}
	for _, s := range b.sessions {
		if len(only) == 0 || s.Key() == only[0] {
			status.Sessions = append(status.Sessions, s)
		}
	}
	return status, nil
}

func (b *board) Changes() *control.Changes { return &b.changes }

func (b *board) Do(ctx context.Context, key resume.Key, order control.Order) (resume.View, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, string(order)+" "+key.String())
	return resume.View{Agent: key.Agent, ID: key.ID, State: resume.Waiting, Reason: "asked for by you"}, b.err
}

func (b *board) SetPaused(_ context.Context, paused bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, fmt.Sprint("paused ", paused))
	return b.err
}

func (b *board) History(context.Context, string, time.Time) (iter.Seq2[control.Step, error], error) {
	return nil, nil
}

func (b *board) PageURL(bool) (string, error) { return "", nil }

func (b *board) Reload(context.Context) error { return nil }

func newPage(b *board) *Page { return New(b, token, slog.New(slog.DiscardHandler)) }

// ask sends a request as a program would; change makes it a browser's.
func ask(h http.Handler, method, target, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a stream that is given has no end
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:7733"+target, strings.NewReader(body))
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(request)
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

func known(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: token}) }

func TestWhoGetsIn(t *testing.T) {
	from := func(site, origin string) func(*http.Request) {
		return func(r *http.Request) {
			known(r)
			r.Header.Set("Sec-Fetch-Site", site)
			r.Header.Set("Origin", origin)
		}
	}
	holding := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: value}) }
	}
	const here, there = "http://127.0.0.1:7733", "http://evil.example"
	const form = "agent=a&id=1"
	for name, c := range map[string]struct {
		method, target string
		change         func(*http.Request)
		want           int
		ordered        []string
	}{
		"the page, with nothing":              {"GET", "/", nil, 401, nil},
		"the page, with a wrong link":         {"GET", "/?token=" + token[1:] + "A", nil, 401, nil},
		"the page, with an empty link":        {"GET", "/?token=", nil, 401, nil},
		"the page, with its link":             {"GET", "/?token=" + token, nil, 303, nil},
		"the page, by a browser that knows":   {"GET", "/", known, 200, nil},
		"the page, with a stale cookie":       {"GET", "/", holding("OLD"), 401, nil},
		"a stale cookie beside the right one": {"GET", "/", func(r *http.Request) { holding("OLD")(r); known(r) }, 200, nil},
		"the script, with nothing":            {"GET", "/page.js", nil, 401, nil},
		"the style, with nothing":             {"GET", "/page.css", nil, 401, nil},
		"the stream, with nothing":            {"GET", "/events", nil, 401, nil},
		"the stream, with a link":             {"GET", "/events?token=" + token, nil, 401, nil},
		"an order, with nothing":              {"POST", "/session/retry", nil, 401, nil},
		"an order, with a link":               {"POST", "/session/retry?token=" + token, nil, 401, nil},
		"a pause, with nothing":               {"POST", "/pause", nil, 401, nil},
		"an order from the page":              {"POST", "/session/retry", from("same-origin", here), 200, []string{"retry a/1"}},
		"an order from a program":             {"POST", "/session/cancel", known, 200, []string{"cancel a/1"}},
		"a pause from the page":               {"POST", "/pause", from("same-origin", here), 200, []string{"paused true"}},
		"an unpause from the page":            {"POST", "/unpause", from("same-origin", here), 200, []string{"paused false"}},
		"an order from another site":          {"POST", "/session/retry", from("cross-site", there), 403, nil},
		"an order from a neighbour":           {"POST", "/session/retry", from("same-site", "http://127.0.0.1:8080"), 403, nil},
		"an order from an old browser, there": {"POST", "/session/retry", from("", there), 403, nil},
		"a pause from another site":           {"POST", "/pause", from("cross-site", there), 403, nil},
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
			b := &board{}
			body := form
			if strings.HasSuffix(c.target, form) {
				body = "" // it is in the address
			}
			answer := ask(newPage(b), c.method, c.target, body, c.change)
			require.Equal(t, c.want, answer.Code, answer.Body)
			require.Equal(t, c.ordered, b.orders)
			require.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';")
			require.Equal(t, "no-store", answer.Header().Get("Cache-Control"))
			require.NotContains(t, answer.Body.String(), token)
			if c.want != http.StatusSeeOther {
				require.Empty(t, answer.Result().Cookies())
			}
		})
	}
}

func TestLinkBecomesACookie(t *testing.T) {
	answer := ask(newPage(&board{}), "GET", "/?token="+token, "", nil)
	require.Equal(t, "/", answer.Header().Get("Location"))
	cookies := answer.Result().Cookies()
	require.Len(t, cookies, 1)
	require.Equal(t, token, cookies[0].Value)
	require.True(t, cookies[0].HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)
}

// What a browser is started with is no secret.
func TestTicketLetsInOnceAndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage(&board{})
		used, late := "/?"+p.Query(true), "/?"+p.Query(true)
		require.NotContains(t, used, token)
		answer := ask(p, "GET", used, "", nil)
		require.Equal(t, 303, answer.Code)
		require.Equal(t, token, answer.Result().Cookies()[0].Value)
		require.Equal(t, 401, ask(p, "GET", used, "", nil).Code)
		time.Sleep(ticketLife + time.Second)
		require.Equal(t, 401, ask(p, "GET", late, "", nil).Code)
		for range 10 * mostTickets {
			p.Query(true)
		}
		require.LessOrEqual(t, len(p.access.tickets), mostTickets)
		require.Equal(t, "token="+token, p.Query(false))
	})
}

// A page without a token would be open to everybody.
func TestNoTokenLetsNobodyIn(t *testing.T) {
	h := New(&board{}, "", slog.New(slog.DiscardHandler))
	require.Equal(t, 401, ask(h, "GET", "/?token=", "", nil).Code)
	require.Equal(t, 401, ask(h, "GET", "/", "", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie}) }).Code)
}

func TestRefusedOrderSaysWhy(t *testing.T) {
	b := &board{err: resume.ErrNoSession}
	answer := ask(newPage(b), "POST", "/session/retry", "agent=a&id=1", known)
	require.Equal(t, 404, answer.Code)
	require.Contains(t, answer.Body.String(), resume.ErrNoSession.Error())
	require.Equal(t, 400, ask(newPage(b), "POST", "/session/retry", "id="+strings.Repeat("x", formLimit), known).Code)
}

// A person who gives an order and closes the page has given it.
func TestOrderOutlivesItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lasts, end := lasting(httptest.NewRequestWithContext(ctx, "POST", "/pause", nil))
	defer end()
	require.NoError(t, lasts.Err())
}

// The page loads nothing but its own parts, and has no markup to put text in.
func TestFilesAskNobodyElse(t *testing.T) {
	for _, name := range []string{"page.html", "page.css", "page.js"} {
		data, err := files.ReadFile("files/" + name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(data), "xmlns='http://www.w3.org/2000/svg'", "")
		for _, bad := range []string{"http:", "https:", "//cdn", "innerHTML", "insertAdjacentHTML", "eval(", " style=", "onclick="} {
			require.NotContains(t, text, bad, name)
		}
	}
}

// stream reads what a page is told.
func stream(t *testing.T, b *board) <-chan document {
	server := httptest.NewServer(newPage(b))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/events", nil)
	require.NoError(t, err)
	known(request)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	told := make(chan document, 10)
	go func() {
		defer close(told)
		lines := bufio.NewReader(answer.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			var d document
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &d) == nil {
				told <- d
			}
		}
	}()
	return told
}

func TestStreamTellsWhatChanges(t *testing.T) {
	due := time.Date(2026, 11, 15, 4, 0, 0, 0, time.UTC)
	b := &board{sessions: []resume.View{
		{Agent: "a", ID: "0123456789abcdef", Cwd: "/src/shop", State: resume.Waiting, NextAt: &due, MaxRetries: 5,
			Reason: "rate limit: \x1b[31mline one\nline two", Owner: &resume.Owner{PID: 17},
			Attempts: []resume.AttemptView{{N: 1, Outcome: resume.NoProgress}}},
		{Agent: "a", ID: "2", State: resume.Watching},
	}}
	told := stream(t, b)
	first := <-told
	require.True(t, first.Whole)
	require.Len(t, first.Rows, 2)
	r := first.Rows[0]
	require.Equal(t, "shop", r.Project)
	require.Equal(t, "waiting", r.State)
	require.Equal(t, "rate limit: line one line two", r.Why, "what an agent wrote is made harmless")
	require.Equal(t, "0/5", r.Tries)
	require.Equal(t, "no progress", r.Attempts[0].Outcome)
	require.True(t, due.Equal(*r.NextAt))
	require.Equal(t, "held by pid 17", r.Owner)
	require.True(t, first.Rows[1].Idle)

	b.mu.Lock()
	b.sessions[0].State = resume.GaveUp
	b.mu.Unlock()
	b.changes.Note(b.sessions[0].Key())
	changed := <-told
	require.False(t, changed.Whole)
	require.Len(t, changed.Rows, 1)
	require.Equal(t, "gave up", changed.Rows[0].State)
	require.Nil(t, changed.Rows[0].NextAt)

	b.mu.Lock()
	b.sessions = b.sessions[1:]
	b.mu.Unlock()
	b.changes.Note(resume.Key{Agent: "a", ID: "0123456789abcdef"})
	require.Equal(t, []string{"a/0123456789abcdef"}, (<-told).Gone)
}

// A browser learns that nothing happens, and that the daemon is still there.
func TestQuietStreamBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := control.Follow(&board{}, false)
		defer f.Leave()
		began := time.Now()
		event, err := next(t.Context(), f)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(event), "data: {"))
		for range 3 {
			event, err = next(t.Context(), f)
			require.NoError(t, err)
			require.Equal(t, "event: beat\ndata:\n\n", string(event))
		}
		require.Equal(t, 3*beatEvery, time.Since(began))
	})
}

func TestToken(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, TokenFile)
	first, err := Token(dir)
	require.NoError(t, err)
	require.True(t, sound(first))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := Token(dir)
	require.NoError(t, err)
	require.Equal(t, first, again, "it stays")

	for name, spoil := range map[string]func() error{
		"one that others could read": func() error { return os.Chmod(path, 0o644) },
		"one that is cut off":        func() error { return os.WriteFile(path, []byte("ABC"), 0o600) },
		"an empty one":               func() error { return os.Truncate(path, 0) },
		"none":                       func() error { return os.Remove(path) },
	} {
		t.Run(name+" is replaced", func(t *testing.T) {
			before, err := Token(dir)
			require.NoError(t, err)
			require.NoError(t, spoil())
			after, err := Token(dir)
			require.NoError(t, err)
			require.True(t, sound(after))
			require.NotEqual(t, before, after)
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = Token(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "write the page's token")
}

func TestDaemonInWords(t *testing.T) {
	d := showDaemon(control.Daemon{
		Version: "1.0", PID: 7, Problems: []string{"http.listen: taken"},
		Config:  control.Config{Error: new("line 1: bad\nline 2: worse")},
		Notices: control.Notices{Channels: []control.Channel{{Name: "ops", Failed: 2, LastError: "refused"}, {Name: "desktop"}}},
	})
	require.Equal(t, "resumed 1.0, pid 7", d.Line)
	require.Equal(t, "line 1: bad\nline 2: worse", d.ConfigError)
	require.Equal(t, []string{"http.listen: taken", "notices by ops: 2 failed: refused"}, d.Problems)
	for state, want := range map[string]string{"closed": "free", "open": "limited", "half_open": "one session tries"} {
		require.Equal(t, want, showAccount(control.Account{State: state}).State)
	}
	require.Equal(t, "1 session", showAccount(control.Account{Sessions: 1}).Sessions)
}
