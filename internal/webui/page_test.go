package webui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/humanize"
	"resumed/internal/resume"
	"resumed/internal/usage"
)

// board is a daemon that only notes what it is ordered.
type board struct {
	changes control.Changes

	mu       sync.Mutex
	orders   []string
	sessions []resume.View
	accounts []control.Account
	seen     Closeup
	own      []control.Step
	err      error
}

func (b *board) Status(_ context.Context, _ bool, only ...resume.Key) (control.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := control.Status{Version: 1, Now: time.Now(), Sessions: []resume.View{}, Accounts: b.accounts}
	for _, s := range b.sessions {
		if len(only) == 0 || slices.Contains(only, s.Key()) {
			status.Sessions = append(status.Sessions, s)
		}
	}
	return status, nil
}

func (b *board) Changes() *control.Changes { return &b.changes }

func (b *board) Find(_ context.Context, name string) (resume.Key, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, err := resume.Find(b.sessions, name)
	return found.Key(), err
}

func (b *board) Plan(context.Context, resume.Key) (resume.PlanView, error) {
	return resume.PlanView{}, nil
}

func (b *board) Do(_ context.Context, key resume.Key, order control.Order) (resume.View, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, string(order)+" "+key.String())
	return resume.View{Agent: key.Agent, ID: key.ID, State: resume.Waiting, Reason: "asked for by you"}, b.err
}

func (b *board) Nudge(control.Nudge) error { return nil }

func (b *board) Told(context.Context, resume.Key, []usage.Reading) error { return nil }

func (b *board) Queue() control.Tasks { return nil }

func (b *board) SetPaused(_ context.Context, paused bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, fmt.Sprint("paused ", paused))
	return b.err
}

func (b *board) History(context.Context, string, time.Time) (iter.Seq2[control.Step, error], error) {
	return nil, nil
}

func (b *board) Closeup(_ context.Context, key resume.Key) (Closeup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if s.Key() == key {
			seen := b.seen
			seen.Session = s
			seen.Session.Plan = &resume.PlanView{Command: []string{"claude", "-p"}, LeftOut: []string{"--ide: <b>"}}
			return seen, nil
		}
	}
	return Closeup{}, resume.ErrNoSession
}

func (b *board) Steps(_ context.Context, key resume.Key, _ time.Time, _ int) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for _, step := range b.seen.Steps {
			if (key == resume.Key{} || key.ID == step.Session) && !yield(step, nil) {
				return
			}
		}
	}
}

func (b *board) OwnSteps(context.Context, time.Time) iter.Seq2[control.Step, error] {
	return func(yield func(control.Step, error) bool) {
		for _, step := range b.own {
			if !yield(step, nil) {
				return
			}
		}
	}
}

func (b *board) PageURL(bool) (string, error) { return "", nil }

func (b *board) Reload(context.Context) error { return nil }

func newPage(t *testing.T, b *board) *Page {
	secret, err := OpenSecret(t.TempDir())
	require.NoError(t, err)
	return New(b, secret, slog.New(slog.DiscardHandler))
}

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

// known makes a request one of a page that was let in.
func known(t *testing.T, p *Page) func(*http.Request) {
	given, err := p.access.key()
	require.NoError(t, err)
	return showing(given)
}

func showing(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

// following makes a request that of a page whose link has just been followed.
func following(query string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Link "+strings.TrimPrefix(query, "token=")) }
}

// enter opens the stream with a link until it has told its first, which is a key.
func enter(p *Page, query string) (code int, key string) {
	ctx, leave := context.WithCancel(context.Background())
	request := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:7733/events", http.NoBody)
	following(query)(request)
	answer := brief{httptest.NewRecorder(), leave}
	p.ServeHTTP(answer, request)
	if told, let := strings.CutPrefix(answer.Body.String(), "event: key\ndata: "); let {
		key, _, _ = strings.Cut(told, "\n")
	}
	return answer.Code, key
}

// brief is a reader who leaves with the first that it is told.
type brief struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (b brief) Flush() { b.leave() }

func entered(t *testing.T, p *Page, query string, want int) {
	t.Helper()
	code, key := enter(p, query)
	require.Equal(t, want, code)
	require.Equal(t, want == http.StatusOK, key != "", "who is let in has a key, and nobody else")
}

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
		for range 10 * mostTickets {
			ticket()
		}
		require.LessOrEqual(t, len(p.access.tickets), mostTickets)
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

func TestRefusedOrderSaysWhy(t *testing.T) {
	b := &board{err: resume.ErrNoSession}
	p := newPage(t, b)
	known := known(t, p)
	answer := ask(p, "POST", "/session/retry", "agent=a&id=1", known)
	require.Equal(t, 404, answer.Code)
	require.Contains(t, answer.Body.String(), resume.ErrNoSession.Error())
	require.Equal(t, 400, ask(p, "POST", "/session/retry", "id="+strings.Repeat("x", formLimit), known).Code)
}

// Whoever sees the page may steer sessions, and spend nothing.
func TestThePageSpendsNothing(t *testing.T) {
	p := newPage(t, &board{})
	known := known(t, p)
	require.Equal(t, 200, ask(p, "POST", "/session/retry", "agent=a&id=1", known).Code)
	require.Equal(t, 404, ask(p, "POST", "/session/"+string(control.OwnKey), "agent=a&id=1", known).Code)
}

// A person who gives an order and closes the page has given it.
func TestOrderOutlivesItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lasts, end := lasting(httptest.NewRequestWithContext(ctx, "POST", "/pause", nil))
	defer end()
	require.NoError(t, lasts.Err())
}

// The page loads nothing, and has no markup to put text in.
func TestFilesAskNobodyElse(t *testing.T) {
	entries, err := files.ReadDir("files")
	require.NoError(t, err)
	require.Greater(t, len(entries), 5)
	for _, entry := range entries {
		name := entry.Name()
		data, err := files.ReadFile("files/" + name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(data), "xmlns='http://www.w3.org/2000/svg'", "")
		for _, bad := range []string{"http:", "https:", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML", "setHTML", "document.write", "eval(", " style=", "onclick="} {
			require.NotContains(t, text, bad, name)
		}
	}
}

// stream reads what a page is told.
func stream(t *testing.T, b *board) <-chan document {
	p := newPage(t, b)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/events", nil)
	require.NoError(t, err)
	known(t, p)(request)
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
		{
			Agent: "a", ID: "0123456789abcdef", Cwd: "/src/shop", State: resume.Waiting, NextAt: &due, MaxRetries: 5,
			Reason: "rate limit: \x1b[31mline one\nline two", Owner: &resume.Owner{PID: 17},
		},
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
	require.Equal(t, int(humanize.Time), r.Need)
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
		said := func() string {
			events, err := next(t.Context(), f)
			require.NoError(t, err)
			return string(bytes.Join(slices.Collect(events), nil))
		}
		require.True(t, strings.HasPrefix(said(), "data: {"))
		for range 3 {
			require.Equal(t, "event: beat\ndata:\n\n", said())
		}
		require.Equal(t, 3*beatEvery, time.Since(began))
	})
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, SecretFile)
	read := func() string {
		secret, err := OpenSecret(dir)
		require.NoError(t, err)
		text, err := secret.now()
		require.NoError(t, err)
		require.True(t, sound(text))
		return text
	}
	first := read()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, first, read(), "it stays")

	for name, spoil := range map[string]func() error{
		"one that others could read":   func() error { return os.Chmod(path, 0o644) },
		"one that browsers were given": func() error { return os.WriteFile(path, []byte(first[:26]+"\n"), 0o600) },
		"one that is cut off":          func() error { return os.WriteFile(path, []byte("ABC"), 0o600) },
		"an empty one":                 func() error { return os.Truncate(path, 0) },
		"none":                         func() error { return os.Remove(path) },
	} {
		t.Run(name+" is replaced", func(t *testing.T) {
			before := read()
			require.NoError(t, spoil())
			require.NotEqual(t, before, read())
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = OpenSecret(filepath.Join(dir, "missing"))
	require.ErrorContains(t, err, "write the page's secret")
}

func TestDaemonInWords(t *testing.T) {
	d := showDaemon(control.Daemon{
		Version: "1.0", PID: 7, Problems: []string{"http.listen: taken"},
		Config:  control.Config{Error: new("line 1: bad\nline 2: worse")},
		Agents:  []control.Watched{{Name: "codex\x1b[2J", Sessions: 3}},
		Notices: control.Notices{Channels: []control.Channel{{Name: "ops", Pending: 1, Failed: 2, LastError: "refused"}, {Name: "desktop"}}},
	})
	require.Equal(t, "resumed 1.0, pid 7", d.Line)
	require.Equal(t, "line 1: bad\nline 2: worse", d.ConfigError)
	require.Equal(t, []note{{"wait", "notices by ops: 1 to be delivered, 2 failed: refused"}, {"bad", "http.listen: taken"}}, d.Notes, "as status says it")
	require.Equal(t, []agent{{Name: "codex", Sessions: 3}}, d.Agents)
	for state, want := range map[string]string{"closed": "free", "open": "limited", "half_open": "one session tries"} {
		require.Equal(t, want, showAccount(control.Account{State: state}).State)
	}
	require.Equal(t, "1 session", showAccount(control.Account{Sessions: 1}).Sessions)
}

func TestGauges(t *testing.T) {
	for want, w := range map[gauge]usage.Window{
		{Name: "5 hours", Percent: 71.5, Words: "72 %", Tone: "good"}: {Kind: usage.FiveHours, Used: 71.5},
		{Name: "7 days", Percent: 80, Words: "80 %", Tone: "wait"}:    {Kind: usage.SevenDays, Used: 80},
		{Name: "3 hour", Percent: 100, Words: "108 %", Tone: "bad"}:   {Kind: "3_hour", Used: 108},
	} {
		require.Equal(t, []gauge{want}, showAccount(control.Account{Windows: []usage.Window{w}}).Gauges)
	}
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
			if found && p.access.secret.holds(key, text) {
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
