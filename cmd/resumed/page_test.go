package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
)

// page returns the link that open prints, once the page is served.
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

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	person := &http.Client{Jar: jar}
	answer, err := person.Get(link)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Empty(t, answer.Request.URL.RawQuery, "the address that stays has no token")

	origin := "http://" + parsed.Host
	stream, err := person.Get(origin + "/events")
	require.NoError(t, err)
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

	answer, err = person.PostForm(origin+"/session/pause", url.Values{"agent": {"mybot"}, "id": {"one"}})
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.True(t, b.session("one").Paused)
	require.Equal(t, resume.Waiting, b.session("one").State)
	require.Equal(t, true, (<-rows)[0]["paused"], "the stream tells what came of it")

	info, err := os.Stat(b.path(".local/state/resumed/page.token"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Zero(t, b.kill(syscall.SIGTERM), "an open page does not keep the daemon from ending")
	_, open := <-rows
	require.False(t, open)
	require.NoError(t, lines.Err(), "the stream is ended, not torn")
	require.NotContains(t, b.logged(), token)
	b.start()
	require.Contains(t, b.page(), token, "a page that is open goes on after a restart")
}

// Where there is a desktop the link goes there, and where that fails to the
// person.
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
	enter := func() int {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		answer, err := (&http.Client{Jar: jar}).Get(once)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusOK, enter())
	require.Equal(t, http.StatusUnauthorized, enter(), "it was good for once")

	b.write("bin/xdg-open", "#!/bin/sh\nexit 3\n")
	out, _, code = b.run("open")
	require.Zero(t, code)
	require.Equal(t, link+"\n", out)
}
