package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// page returns the link that open prints, when the page is served.
func (b *box) page() string {
	b.t.Helper()
	var link string
	b.until("the page is served", func() bool {
		out, _, code := b.run("open", "--print")
		link = strings.TrimSuffix(out, "\n")
		return code == 0
	})
	return link
}

// visitor is a client that was let in like the page.
type visitor struct {
	t            *testing.T
	origin, path string
	cookie       *http.Cookie
}

// visit opens a link as the page does. There is no cookie if the link is not accepted.
func visit(t *testing.T, link string) visitor {
	t.Helper()
	parsed, err := url.Parse(link)
	require.NoError(t, err)
	v := visitor{t: t, origin: "http://" + parsed.Host}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.origin+"/enter", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Link "+parsed.Query().Get("token"))
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		require.Empty(t, answer.Cookies())
		return v
	}
	path, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	v.path, v.cookie = "/at/"+string(path), answer.Cookies()[0]
	return v
}

func (v visitor) ask(method, path string, form url.Values) *http.Response {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.origin+v.path+path, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.AddCookie(v.cookie)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(v.t, err)
	return answer
}

// order returns the status code of the answer.
func (v visitor) order(path string, form url.Values) int {
	v.t.Helper()
	answer := v.ask(http.MethodPost, path, form)
	require.NoError(v.t, answer.Body.Close())
	return answer.StatusCode
}

func TestLinkLetsABrowserIn(t *testing.T) {
	b := newBox(t)
	_, errOut, code := b.run("open", "--print")
	require.Equal(t, exitNoDaemon, code, errOut)

	b.write(configFile, bot)
	b.write("bot/resume.sh", "exit 3")
	b.start()
	_, errOut, code = b.run("open", "--print")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errOut, "http.listen is empty")
	require.Contains(t, errOut, b.path(configFile), "it says where to set it")

	b.reconfigure(bot + served)
	link := b.page()
	parsed, err := url.Parse(link)
	require.NoError(t, err)
	token := parsed.Query().Get("token")
	require.GreaterOrEqual(t, len(token), 26)

	answer, err := http.Get(link)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Empty(t, answer.Header.Values("Set-Cookie"), "whoever only looks at a link is not let in")

	person := visit(t, link)
	stream := person.ask(http.MethodGet, "/events", nil)
	defer stream.Body.Close()
	require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	rows := make(chan []map[string]any)
	lines := bufio.NewScanner(stream.Body)
	go func() {
		defer close(rows)
		for lines.Scan() {
			var document struct {
				Rows []map[string]any `json:"rows"`
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &document) == nil {
				rows <- document.Rows
			}
		}
	}()
	require.Empty(t, <-rows)
	b.write("bot/logs/one.log", "rate limited, retry in 1h\n")
	changed := <-rows
	require.Len(t, changed, 1)
	require.Equal(t, "waiting", changed[0]["state"])

	require.Equal(t, http.StatusUnauthorized, visitor{t, person.origin, person.path, &http.Cookie{Name: person.cookie.Name, Value: token}}.order("/pause", nil), "the token itself lets nobody in")
	require.Equal(t, http.StatusOK, person.order("/session/pause", url.Values{"agent": {"mybot"}, "id": {"one"}}))
	require.True(t, b.session("one").Paused)
	require.Equal(t, resume.Waiting, b.session("one").State)
	require.Equal(t, true, (<-rows)[0]["paused"], "the stream tells what came of it")

	grants := b.path(".local/state/resumed/page.grants")
	info, err := os.Stat(grants)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Zero(t, b.kill(syscall.SIGTERM), "an open page does not keep the daemon from ending")
	_, open := <-rows
	require.False(t, open)
	require.NoError(t, lines.Err(), "the stream is ended, not torn")
	require.NotContains(t, b.logged(), token)
	require.NotContains(t, b.logged(), person.cookie.Value)
	require.NotContains(t, b.logged(), person.path)
	b.write(configFile, bot+"[http]\nlisten = \""+parsed.Host+"\"\n")
	b.start()
	b.page()
	require.Equal(t, http.StatusOK, person.order("/pause", nil), "a page that is open goes on after a restart")
	require.NoError(t, os.Remove(grants))
	require.Equal(t, http.StatusUnauthorized, person.order("/unpause", nil), "everybody is locked out")
	require.Empty(t, visit(t, link).cookie)
	require.NotEmpty(t, visit(t, b.page()).cookie)
}

// With a desktop the link is opened there; if that fails, it is printed.
func TestOpenAsksTheDesktop(t *testing.T) {
	b := newBox(t)
	b.write(configFile, bot+served)
	b.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" >> \"$HOME/opened\"\n")
	b.start()
	link := b.page()
	b.vars = []string{"DISPLAY=:99"}
	out, _, code := b.run("open")
	require.Zero(t, code)
	require.NotContains(t, out, "token")
	once := strings.TrimSpace(b.read("opened"))
	require.NotEqual(t, link, once, "others may see what a browser is started with")
	require.NotEmpty(t, visit(t, once).cookie)
	require.Empty(t, visit(t, once).cookie, "it was good for once")

	b.write("bin/xdg-open", "#!/bin/sh\nexit 3\n")
	out, _, code = b.run("open")
	require.Zero(t, code)
	require.NotEmpty(t, visit(t, strings.TrimSuffix(out, "\n")).cookie)
}
